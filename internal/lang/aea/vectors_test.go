package aea_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/lang/aea"
	"github.com/parley-agents/parley/internal/vectors"
)

// The framework judged each of these files. Its words are its own; what it calls
// wrong must be what the error here names.
func TestVerdictsOfTheFramework(t *testing.T) {
	type verdict struct {
		Name, Stage, Verdict, Message, Exception string
		Spec                                     string `json:"spec_yaml"`
		Extract                                  string `json:"extract_error"`
	}
	quoted := regexp.MustCompile(`'([^'\s]+)'`)
	classes := regexp.MustCompile(`<class '[^']*'>|compile\('.*'\)|does not match '.*'`)
	vectors.Load(t, "spec_validation.json").Run(t, map[string]vectors.Check{
		"cases": func(t *testing.T, text json.RawMessage) {
			vectors.Cases(t, text, func(v verdict) string { return v.Name }, func(t *testing.T, v verdict) {
				_, err := aea.Read([]byte(v.Spec))
				if valid := err == nil; valid != (v.Verdict == "valid") {
					t.Fatalf("error %v, but the framework says %s: %s", err, v.Verdict, v.Message)
				}
				if err == nil || v.Exception == "ScannerError" {
					return
				}
				for _, name := range quoted.FindAllStringSubmatch(classes.ReplaceAllString(v.Message, ""), -1) {
					if name[1] != "string" && !strings.Contains(err.Error(), name[1]) {
						t.Errorf("%v\ndoes not name %s, which is what is wrong: %s", err, name[1], v.Message)
					}
				}
			})
		},
	}, "note")
}

// The schemas that the generators of both flavours write.
func TestProto(t *testing.T) {
	type schema struct {
		Verdict, Exception, Message string
		Package                     string `json:"package_name"`
		Raw                         string `json:"proto_raw"`
		Linted                      string `json:"proto_linted"`
	}
	type proto struct {
		File    string  `json:"spec_file"`
		Spec    string  `json:"spec_yaml"`
		Open    schema  `json:"open_aea"`
		Classic *schema `json:"classic"`
	}
	compared := 0
	vectors.Load(t, "spec_to_proto.json").Run(t, map[string]vectors.Check{
		"cases": func(t *testing.T, text json.RawMessage) {
			var all []json.RawMessage
			if err := json.Unmarshal(text, &all); err != nil {
				t.Fatal(err)
			}
			for _, one := range all {
				var c proto
				if err := json.Unmarshal(one, &c); err != nil {
					t.Fatal(err)
				}
				t.Run(c.File, func(t *testing.T) {
					if c.Spec == "" {
						c.Spec = string(file(t, c.File))
					}
					s, err := aea.Read([]byte(c.Spec))
					if err != nil || c.Open.Verdict != "valid" {
						if (err == nil) != (c.Open.Verdict == "valid") {
							t.Fatalf("error %v, want %+v", err, c.Open)
						}
						return
					}
					if got := s.Proto(aea.Open); got != c.Open.Raw {
						t.Errorf("open: %s", difference(got, c.Open.Raw))
					}
					want := c.Open.Raw
					if c.Classic != nil && c.Classic.Raw != "" {
						want = c.Classic.Raw
					}
					if got := s.Proto(aea.Classic); got != want {
						t.Errorf("classic: %s", difference(got, want))
					}
					compared++
				})
			}
		},
	}, "note", "spec_dir")
	if compared < 40 && os.Getenv(vectors.Env) == "" {
		t.Errorf("only %d schemas were compared", compared)
	}
}

func file(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "specs", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// difference shows the first lines that differ.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return "line " + g[i] + "\nwant " + w[i]
		}
	}
	return "got\n" + got + "\nwant\n" + want
}

// Random specifications that the framework was shown: it takes the same ones, and
// makes the same schemas of them.
func TestRandomSpecifications(t *testing.T) {
	text, err := os.ReadFile("testdata/verdicts.json")
	if err != nil {
		t.Fatal(err)
	}
	type random struct {
		Spec  string `json:"spec_yaml"`
		Valid bool
		Raw   string `json:"proto_raw"`
	}
	recorded := vectors.Decode[struct {
		Note  string
		Cases []random
	}](t, text)
	var valid, schemas int
	for _, c := range recorded.Cases {
		s, err := aea.Read([]byte(c.Spec))
		if (err == nil) != c.Valid {
			t.Errorf("error %v, but valid is %t for the framework:\n%s", err, c.Valid, c.Spec)
			continue
		}
		if err != nil {
			continue
		}
		valid++
		if c.Raw == "" {
			continue
		}
		schemas++
		if got := s.Proto(aea.Open); got != c.Raw {
			t.Errorf("%s\n%s", difference(got, c.Raw), c.Spec)
		}
	}
	if valid < 50 || schemas < 50 || valid > len(recorded.Cases)/2 {
		t.Errorf("%d of %d valid, %d schemas: too few to prove anything", valid, len(recorded.Cases), schemas)
	}
}
