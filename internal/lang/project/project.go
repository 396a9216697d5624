// Package project is where the protocol language meets the disk: it finds the
// sources that a person names, the parley.toml in force for each, and what they
// import, and has them checked.
//
//	sources, err := project.Find([]string{"protocol"}, nil)
//	result, err := project.Check(sources, project.Options{})
//	fmt.Print(result.Diagnostics)
package project

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/parley-agents/parley/internal/lang/check"
	"github.com/parley-agents/parley/internal/lang/diag"
	"github.com/parley-agents/parley/internal/lang/syntax"
)

// maxSource is more than the language reads: a source that is too large is a
// finding, not a failure.
const maxSource = 8<<20 + 1

// maxFiles bounds what is found in folders.
const maxFiles = 100_000

// Stdin is the name that findings in standard input have, unless it was given
// another.
const Stdin = "<stdin>"

// A Source is a text, and the path it came from.
type Source struct {
	Name string // as it was named, with slashes
	Text []byte
}

// An Input is standard input. Name may say what it is called, which decides
// whether it is a page and where its imports are.
type Input struct {
	Reader io.Reader
	Name   string
}

// Find reads the sources that arguments name: files, folders, and "-" for
// standard input. In folders these are all .parley files and the Markdown pages
// that have blocks of the language, in order; hidden folders are left out. A
// folder without any is an error: whoever names it expects something there.
func Find(args []string, stdin *Input) ([]Source, error) {
	var sources []Source
	seen := make(map[string]bool)
	add := func(name string, text []byte) {
		name = filepath.ToSlash(filepath.Clean(name))
		if !seen[name] {
			seen[name] = true
			sources = append(sources, Source{name, text})
		}
	}
	for _, arg := range args {
		if arg == "-" {
			text, err := read(stdin.Reader)
			if err != nil {
				return nil, err
			}
			name := stdin.Name
			if name == "" {
				name = Stdin
			}
			add(name, text)
			continue
		}
		info, err := os.Stat(arg)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			text, err := readFile(arg)
			if err != nil {
				return nil, err
			}
			add(arg, text)
			continue
		}
		count := 0
		err = walk(arg, func(name string, text []byte) error {
			if count++; count > maxFiles {
				return fmt.Errorf("%s: over %d sources", arg, maxFiles)
			}
			add(name, text)
			return nil
		})
		if err == nil && count == 0 {
			err = fmt.Errorf("%s: there are no .parley files", arg)
		}
		if err != nil {
			return nil, err
		}
	}
	return sources, nil
}

// walk calls visit for the sources below a folder, which may be a link to one.
func walk(folder string, visit func(name string, text []byte) error) error {
	folder = filepath.Clean(folder) + string(filepath.Separator)
	return filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != folder && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules"):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		page := strings.HasSuffix(name, ".md") || strings.HasSuffix(name, ".markdown")
		if !page && !strings.HasSuffix(name, ".parley") {
			return nil
		}
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
			return err // a link may lead to a folder, a device or nowhere
		}
		text, err := readFile(name)
		if err != nil || page && !hasCode(text) {
			return err
		}
		return visit(name, text)
	})
}

var markedBlock = regexp.MustCompile("(?m)^[ \t]*(```+|~~~+)[ \t]*(parley|dsl)([ \t\r]|$)")

// hasCode reports whether a page has blocks of the language. One with unmarked
// blocks only, which may be in any language, has if they can be read.
func hasCode(page []byte) bool {
	if markedBlock.Match(page) {
		return true
	}
	file, found := syntax.Parse("page.md", page)
	return len(file.Items) > 0 && len(found) == 0
}

func read(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, maxSource)) }

func readFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return read(file)
}

// Options say what else to check.
type Options struct {
	All bool // also what is not checked unless somebody asks, such as time limits
}

// A Result is what sources say, with the severities of their projects.
type Result struct {
	Protocols   []*check.Protocol
	Diagnostics diag.List
	Checked     []*check.Result // what was checked together, without the severities of the projects

	texts map[string][]byte
}

// Check checks sources with everything that they import.
func Check(sources []Source, options Options) (*Result, error) {
	result := &Result{texts: make(map[string][]byte)}
	for _, s := range sources {
		result.texts[s.Name] = s.Text
	}
	known := make(configs)
	groups := make(map[*config][]check.Source)
	var order []*config
	for _, s := range sources {
		c, err := known.of(filepath.Dir(filepath.FromSlash(s.Name)))
		if err != nil {
			return nil, err
		}
		if groups[c] == nil {
			order = append(order, c)
		}
		groups[c] = append(groups[c], check.Source{Name: s.Name, Text: s.Text})
	}
	for _, c := range order {
		checked := check.All(groups[c], check.Options{Load: result.load, Roots: c.roots, Bounds: options.All || c.asks()})
		result.Checked = append(result.Checked, checked)
		result.Protocols = append(result.Protocols, checked.Protocols...)
		result.Diagnostics = append(result.Diagnostics, c.apply(checked.Diagnostics, options.All)...)
	}
	if len(order) > 1 {
		result.Diagnostics = result.Diagnostics.Tidy()
	}
	return result, nil
}

var errNotAFile = errors.New("not a file")

// load reads what is imported. Devices and pipes might never end.
func (r *Result) load(name string) ([]byte, error) {
	if text, known := r.texts[path.Clean(name)]; known {
		return text, nil
	}
	info, err := os.Stat(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotAFile
	}
	text, err := readFile(filepath.FromSlash(name))
	if err == nil {
		r.texts[name] = text
	}
	return text, err
}

// Line returns a line of a source that was checked or imported, counted from 1.
func (r *Result) Line(file string, n int) string { return Line(r.texts[file], n) }

// Line returns a line of a text, counted from 1.
func Line(text []byte, n int) string {
	for ; n > 1; n-- {
		end := slices.Index(text, '\n')
		if end < 0 {
			return ""
		}
		text = text[end+1:]
	}
	if end := slices.Index(text, '\n'); end >= 0 {
		text = text[:end]
	}
	return strings.TrimSuffix(string(text), "\r")
}
