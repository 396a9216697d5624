package project

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/parley-agents/parley/internal/lang/diag"
)

// ConfigName is the file that says where imports are and how bad each finding is.
const ConfigName = "parley.toml"

const maxConfig = 1 << 20

// A config is a parley.toml:
//
//	roots = ["protocols"]   # where imports are, relative to this file
//
//	[severities]
//	PAR2140 = "warning"     # off, note, warning or error
//
//	[gen]
//	lang = ["go", "proto"]  # what parley gen writes
//	out = "generated"       # and where, relative to this file
type config struct {
	roots      []string
	severities map[string]severity
	gen        Generation
}

// A Generation says what parley gen writes where nothing is said on the command
// line.
type Generation struct {
	Lang []string
	Out  string // "" is beside the source
}

// GenerationOf returns what the parley.toml in force for a source says of it.
func GenerationOf(source string) (Generation, error) {
	c, err := make(configs).of(filepath.Dir(filepath.FromSlash(source)))
	if err != nil {
		return Generation{}, err
	}
	return c.gen, nil
}

// A severity is that of a code for this project.
type severity struct {
	diag.Severity
	off bool
}

var severityNames = map[string]severity{
	"off": {off: true}, "note": {Severity: diag.Note}, "warning": {Severity: diag.Warning}, "error": {Severity: diag.Error},
}

// none is in force where there is no parley.toml.
var none = &config{}

// configs remembers the configuration of each folder.
type configs map[string]*config

// of returns the configuration in force in a folder: that of the nearest
// parley.toml in it or above it.
func (c configs) of(folder string) (*config, error) {
	if known := c[folder]; known != nil {
		return known, nil
	}
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	found, err := readConfig(filepath.Join(folder, ConfigName), folder)
	above := filepath.Dir(absolute)
	switch {
	case errors.Is(err, fs.ErrNotExist) && above == absolute:
		found, err = none, nil
	case errors.Is(err, fs.ErrNotExist):
		found, err = c.of(parent(folder))
	}
	if err != nil {
		return nil, err
	}
	c[folder] = found
	return found, nil
}

// parent names the folder above one in the same way: relative names stay so.
func parent(folder string) string {
	folder = filepath.Clean(folder)
	if folder == "." || filepath.Base(folder) == ".." {
		return filepath.Join(folder, "..")
	}
	return filepath.Dir(folder)
}

func readConfig(name, folder string) (*config, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxConfig+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxConfig {
		return nil, fmt.Errorf("%s: over %d bytes", name, maxConfig)
	}
	c, err := parseConfig(text)
	if err != nil {
		return nil, fmt.Errorf("%s%w", name, err)
	}
	for i, root := range c.roots {
		if !filepath.IsAbs(root) {
			root = filepath.Join(folder, root)
		}
		c.roots[i] = filepath.ToSlash(root)
	}
	if c.gen.Out != "" && !filepath.IsAbs(c.gen.Out) {
		c.gen.Out = filepath.Join(folder, c.gen.Out)
	}
	return c, nil
}

// parseConfig reads a parley.toml. Its errors begin with the place, or a colon.
func parseConfig(text []byte) (*config, error) {
	var written struct {
		Roots      []string          `toml:"roots"`
		Severities map[string]string `toml:"severities"`
		Gen        Generation        `toml:"gen"`
	}
	decoder := toml.NewDecoder(strings.NewReader(string(text))).DisallowUnknownFields()
	if err := decoder.Decode(&written); err != nil {
		return nil, configError(err)
	}
	c := &config{roots: written.Roots, severities: make(map[string]severity), gen: written.Gen}
	for _, code := range sortedKeys(written.Severities) {
		word := written.Severities[code]
		s, known := severityNames[word]
		switch {
		case !isCode(code):
			return nil, fmt.Errorf(": severities: there is no code %q%s", code, hint(diag.Nearest(code, codeNames())))
		case !known:
			return nil, fmt.Errorf(": severities: %s is %q; want \"off\", \"note\", \"warning\" or \"error\"", code, word)
		}
		c.severities[code] = s
	}
	return c, nil
}

// configError says where in the file it is, and which key is meant.
func configError(err error) error {
	if unknown, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(unknown.Errors) > 0 {
		first := &unknown.Errors[0]
		line, column := first.Position()
		key := strings.Join(first.Key(), ".")
		return fmt.Errorf(":%d:%d: unknown key %q%s; the keys are \"roots\" and the tables \"severities\" and \"gen\" (lang, out)", line, column, key, hint(diag.Nearest(key, []string{"roots", "severities", "gen", "gen.lang", "gen.out"})))
	}
	if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column := wrong.Position()
		return fmt.Errorf(":%d:%d: %s", line, column, strings.TrimPrefix(wrong.Error(), "toml: "))
	}
	return fmt.Errorf(": %w", err)
}

func hint(near string) string {
	if near == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", near)
}

func isCode(code string) bool {
	_, ok := diag.Lookup(code)
	return ok
}

func codeNames() (names []string) {
	for _, info := range diag.Codes() {
		names = append(names, info.Code)
	}
	return names
}

func sortedKeys(m map[string]string) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// onlyIfAsked are the codes that nobody hears of unless -W or parley.toml asks.
var onlyIfAsked = []string{"PAR2140", "PAR2142"}

// asks reports whether the project wants something that is not checked by itself.
func (c *config) asks() bool {
	return slices.ContainsFunc(onlyIfAsked, func(code string) bool {
		s, set := c.severities[code]
		return set && !s.off
	})
}

// apply gives the findings the severities of the project. All is whether
// everything was asked for.
func (c *config) apply(found diag.List, all bool) diag.List {
	var kept diag.List
	for _, d := range found {
		s, set := c.severities[d.Code]
		switch {
		case set && s.off, !set && !all && slices.Contains(onlyIfAsked, d.Code):
			continue
		case set:
			d.Severity = s.Severity
		}
		kept = append(kept, d)
	}
	return kept
}
