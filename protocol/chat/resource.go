package chat

import (
	"encoding/base64"
	"mime"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/pyjson"
)

// Limits of resources. What is larger belongs elsewhere, with a link to it.
const (
	MaxEmbedded = 512 << 10 // bytes in one resource; in a message they take a third more
	MaxLink     = 64 << 10  // bytes of a URI that is a link
)

// The metadata of resources that clients know.
const (
	mimeTypeKey = "mime_type"
	roleKey     = "role"
)

// Link makes a resource of something that is elsewhere. Its role, such as
// "thumbnail" or "profile-image", may be empty.
func Link(uri, mimeType, role string) (Resource, error) {
	u, err := url.Parse(uri)
	switch {
	case len(uri) > MaxLink:
		return Resource{}, fault.Errorf(fault.TooLarge, "uri", "%d bytes, a link has at most %d", len(uri), MaxLink)
	case err != nil || u.Scheme == "":
		return Resource{}, fault.Errorf(fault.Malformed, "uri", "expected a URI with a scheme, such as https://example.com/a.png, found %q", pyjson.Brief(uri))
	}
	return newResource(uri, mimeType, role)
}

// Embed makes a resource that carries its content with it, as a data: URI.
func Embed(content []byte, mimeType, role string) (Resource, error) {
	if len(content) > MaxEmbedded {
		return Resource{}, fault.Errorf(fault.TooLarge, "uri", "%d bytes, a message carries at most %d; use a link", len(content), MaxEmbedded)
	}
	plain := strings.ReplaceAll(mimeType, " ", "") // a URI has no blanks
	if strings.ContainsAny(plain, `",%#`) {        // nor these, unescaped; the metadata have it all
		plain, _, _ = strings.Cut(plain, ";")
	}
	return newResource("data:"+plain+";base64,"+base64.StdEncoding.EncodeToString(content), mimeType, role)
}

func newResource(uri, mimeType, role string) (Resource, error) {
	kind, _, err := mime.ParseMediaType(mimeType)
	if err != nil || !strings.Contains(kind, "/") {
		return Resource{}, fault.Errorf(fault.Malformed, mimeTypeKey, "expected a MIME type such as image/png, found %q", pyjson.Brief(mimeType))
	}
	r := Resource{URI: uri, Metadata: map[string]string{mimeTypeKey: mimeType}}
	if role != "" {
		r.Metadata[roleKey] = role
	}
	return r, nil
}

// Attach makes a content of resources, under a new id. Of several, the first is
// what it is about; others go with it, such as a thumbnail.
func Attach(first Resource, others ...Resource) ResourceContent {
	c := ResourceContent{ResourceID: uuid.New(), Resource: first}
	if len(others) > 0 {
		c.Resource = append(Resources{first}, others...)
	}
	return c
}

// Resources returns the resources of the content; the first is what it is about.
func (c ResourceContent) Resources() []Resource {
	switch r := c.Resource.(type) {
	case Resource:
		return []Resource{r}
	case Resources:
		return r
	}
	return nil
}

// MIMEType returns what the resource is, such as "image/png": what its metadata
// says, else what a data: URI says, else "".
func (r Resource) MIMEType() string {
	if said := r.Metadata[mimeTypeKey]; said != "" {
		return said
	}
	header, _, isData := cutData(r.URI)
	said := strings.TrimSuffix(header, ";base64")
	switch {
	case !isData:
		return ""
	case said == "" || said[0] == ';': // RFC 2397 has a default
		return "text/plain" + said
	}
	return said
}

// Role returns what the resource is for, or "".
func (r Resource) Role() string { return r.Metadata[roleKey] }

// Content returns what the resource carries with it. Of a link, which carries
// nothing, embedded is false.
func (r Resource) Content() (content []byte, embedded bool, err error) {
	header, body, isData := cutData(r.URI)
	if !isData {
		return nil, false, nil
	}
	// Three bytes take at most nine characters in a URI.
	if len(r.URI) > 3*MaxEmbedded+MaxLink {
		return nil, true, fault.Errorf(fault.TooLarge, "uri", "%d bytes, more than %d are not read", len(r.URI), 3*MaxEmbedded+MaxLink)
	}
	text, err := url.PathUnescape(body)
	if err != nil {
		return nil, true, fault.Errorf(fault.Malformed, "uri", "the data: URI has an escape that is none: %w", err)
	}
	content = []byte(text)
	if strings.HasSuffix(header, ";base64") {
		text = strings.TrimRight(text, "=")
		if content, err = base64.RawStdEncoding.DecodeString(text); err != nil {
			return nil, true, fault.Errorf(fault.Malformed, "uri", "the data: URI is not base64: %w", err)
		}
	}
	if len(content) > MaxEmbedded {
		return nil, true, fault.Errorf(fault.TooLarge, "uri", "%d bytes, at most %d are read", len(content), MaxEmbedded)
	}
	return content, true, nil
}

// cutData takes a data: URI apart.
func cutData(uri string) (header, body string, ok bool) {
	if len(uri) < len("data:") || !strings.EqualFold(uri[:len("data:")], "data:") {
		return "", "", false
	}
	return strings.Cut(uri[len("data:"):], ",")
}
