package interop

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A promise or a difference that names a test is held by one: the tests that the
// pages name are there. A name that ends in … stands for all that begin so.
func TestTestsNamedInTheDocsExist(t *testing.T) {
	declared := map[string]bool{}
	declaration := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == ".cache" {
			return filepath.SkipDir
		}
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range declaration.FindAllSubmatch(text, -1) {
			declared[string(found[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, page := range []string{"differences.md", "guarantees.md"} {
		text, err := os.ReadFile(filepath.Join("..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`\b(Test[A-Z]\w+)(…?)`).FindAllStringSubmatch(string(text), -1) {
			named++
			name, more := found[1], found[2] != ""
			ok := declared[name]
			for other := range declared {
				ok = ok || more && strings.HasPrefix(other, name)
			}
			if !ok {
				t.Errorf("%s names %s, which is not there", page, name)
			}
		}
	}
	if named < 40 {
		t.Errorf("%d tests are named: the pages are not read right", named)
	}
}
