package talk

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"
	"unicode"

	"github.com/parley-agents/parley/fault"
)

const (
	// MaxResource is how large a resource may be that is saved.
	MaxResource = 32 << 20

	saveTimeout = time.Minute
)

// Save writes a resource to a file, which must not be there yet, and returns its
// name and size. Without a name it is made from what the peer says, for the
// working folder.
func Save(ctx context.Context, r Resource, name string) (string, int64, error) {
	if name == "" {
		name = r.fileName()
	}
	ctx, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	content, err := r.open(ctx)
	if err != nil {
		return "", 0, err
	}
	defer content.Close()
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return "", 0, fault.Errorf(fault.Conflict, name, "the file is there already: name another")
	}
	if err != nil {
		return "", 0, err
	}
	n, err := io.Copy(file, io.LimitReader(content, MaxResource+1))
	if err == nil && n > MaxResource {
		err = fault.Errorf(fault.TooLarge, r.shortURI(), "over %d bytes", MaxResource)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", 0, errors.Join(err, os.Remove(name)) // it was made just now
	}
	return name, n, nil
}

func (r Resource) open(ctx context.Context) (io.ReadCloser, error) {
	scheme, rest, _ := strings.Cut(r.URI, ":")
	switch strings.ToLower(scheme) {
	case "data":
		text, err := readData(rest)
		return io.NopCloser(strings.NewReader(text)), err
	case "http", "https":
		return r.fetch(ctx)
	}
	return nil, fault.Errorf(fault.Unsupported, r.shortURI(), "only data:, http: and https: resources can be saved")
}

// readData reads a data: URI without its scheme.
func readData(rest string) (string, error) {
	kind, content, ok := strings.Cut(rest, ",")
	if !ok {
		return "", fault.Errorf(fault.Malformed, "data:", "expected data:TYPE,CONTENT")
	}
	content, err := url.PathUnescape(content)
	if err != nil {
		return "", fault.Errorf(fault.Malformed, "data:", "%w", err)
	}
	if !strings.HasSuffix(strings.ToLower(kind), ";base64") {
		return content, nil
	}
	bytes, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(content, "="))
	if err != nil {
		return "", fault.Errorf(fault.Malformed, "data:", "%w", err)
	}
	return string(bytes), nil
}

func (r Resource) fetch(ctx context.Context) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URI, nil)
	if err != nil {
		return nil, fault.Errorf(fault.Malformed, r.shortURI(), "%w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fault.Errorf(fault.Unavailable, r.shortURI(), "%w", err)
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, fault.Errorf(fault.Unavailable, r.shortURI(), "the server answers %s", CleanLine(response.Status))
	}
	return response.Body, nil
}

// fileName is a name in the working folder that no peer can turn into a place
// elsewhere, or into a hidden file.
func (r Resource) fileName() string {
	name := r.Name
	if u, err := url.Parse(r.URI); name == "" && err == nil && u.Scheme != "data" {
		name = path.Base(u.Path)
	}
	name = strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("._- ", c) {
			return c
		}
		return -1
	}, path.Base(strings.ReplaceAll(name, `\`, "/")))
	name = strings.TrimLeft(strings.TrimSpace(name), ".- ")
	if runes := []rune(name); len(runes) > 100 {
		name = string(runes[len(runes)-100:])
	}
	if name != "" {
		return name
	}
	extension := ""
	if known, err := mime.ExtensionsByType(r.mimeType()); err == nil && len(known) > 0 {
		extension = known[len(known)-1]
	}
	return fmt.Sprintf("resource-%d%s", r.Number, extension)
}

func (r Resource) mimeType() string {
	if rest, ok := strings.CutPrefix(r.URI, "data:"); ok && r.Type == "" {
		kind, _, _ := strings.Cut(rest, ",")
		return strings.TrimSuffix(kind, ";base64")
	}
	return r.Type
}

func (r Resource) shortURI() string { return Clean(r.URI[:min(len(r.URI), maxLabel)]) }
