package cli

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/parley-agents/parley/fault"
	lang "github.com/parley-agents/parley/internal/lang/check"
	"github.com/parley-agents/parley/internal/lang/gen"
)

//go:embed templates
var templates embed.FS

// initFiles are the files of a new project, by the templates they are made of.
var initFiles = []struct{ template, path string }{
	{"go.mod.txt", "go.mod"},
	{"parley.toml.txt", "parley.toml"},
	{"README.md.txt", "README.md"},
	{"main.go.txt", "main.go"},
	{"main_test.go.txt", "main_test.go"},
	{"greeting.parley.txt", "greeting/greeting.parley"},
}

var modulePath = regexp.MustCompile(`^[A-Za-z0-9][\w.~-]*(/[\w.~-]+)*$`)

func newInit() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init NAME",
		Short: "Start a Go project: a protocol, an agent that speaks it, and a test",
		Long: `Start a Go project in a new folder: a protocol, the Go code generated from it, an
agent that speaks it, and a test that talks with the agent.

NAME is the name of the agent, or the path of a Go module that ends in it.`,
		Example: `  parley init hello
  parley init example.org/agents/hello
  cd hello && go mod tidy && go test ./...`,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		module := args[0]
		if err := checkModule(module); err != nil {
			return err
		}
		name := agentName(module)
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			if err == nil {
				err = fault.Errorf(fault.Conflict, name, "it is there already")
			}
			return err
		}
		files, err := newProject(module)
		if err != nil {
			return err
		}
		for _, f := range files {
			target := filepath.Join(name, filepath.FromSlash(f.Path))
			if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(target, f.Text, 0o644); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), filepath.ToSlash(target))
		}
		fmt.Fprintf(cmd.OutOrStdout(), "\nNow: cd %s && go mod tidy && go test ./...\n", name)
		return nil
	}
	return cmd
}

// checkModule refuses what Go does not take for a module, before anything is
// written.
func checkModule(module string) error {
	if !modulePath.MatchString(module) || strings.Contains(module, "..") {
		return fault.Errorf(fault.Malformed, "NAME", "%q is no path of a Go module, such as hello or example.org/hello; the folder is made here, with the last part as its name", module)
	}
	if module == "go" || module == "toolchain" || path.Base(module) == "vendor" || module == parleyModule {
		return fault.Errorf(fault.Malformed, "NAME", "Go has another use for a module %q; choose another name, such as example.org/%s", module, "hello")
	}
	for part := range strings.SplitSeq(module, "/") {
		stem, _, _ := strings.Cut(strings.ToUpper(part), ".")
		if strings.HasSuffix(part, ".") || reservedStem.MatchString(stem) {
			return fault.Errorf(fault.Malformed, "NAME", "Go takes no module with the part %q, which is no name of a file on Windows; choose another", part)
		}
	}
	return nil
}

const parleyModule = "github.com/parley-agents/parley"

var (
	reservedStem  = regexp.MustCompile(`^(CON|PRN|AUX|NUL|COM[0-9]|LPT[0-9])$`)
	majorVersions = regexp.MustCompile(`^v[2-9][0-9]*$`)
)

// agentName is the last part of a module's path that is no version.
func agentName(module string) string {
	if parent := path.Dir(module); majorVersions.MatchString(path.Base(module)) && parent != "." {
		return path.Base(parent)
	}
	return path.Base(module)
}

// newProject makes the files of a project.
func newProject(module string) ([]gen.File, error) {
	name := agentName(module)
	title := []rune(name)
	title[0] = unicode.ToUpper(title[0])
	fill := strings.NewReplacer("{{module}}", module, "{{name}}", name, "{{Name}}", string(title), "{{package}}", packageOf(name), "{{version}}", "v"+release, "{{replace}}", replaceLine())
	var files []gen.File
	for _, f := range initFiles {
		text, err := templates.ReadFile("templates/" + f.template)
		if err != nil {
			return nil, err
		}
		made := gen.File{Path: f.path, Text: []byte(fill.Replace(string(text)))}
		files = append(files, made)
		if !strings.HasSuffix(f.path, ".parley") {
			continue
		}
		checked := lang.File(f.path, made.Text, lang.Options{})
		if checked.Diagnostics.HasErrors() {
			return nil, errors.New(checked.Diagnostics.String())
		}
		generated, found := gen.Emit("go", gen.NewPlan(checked, 0, made.Text))
		if found.HasErrors() {
			return nil, errors.New(found.String())
		}
		for _, g := range generated {
			files = append(files, gen.File{Path: path.Join(path.Dir(f.path), g.Path), Text: g.Text})
		}
	}
	return files, nil
}

// replaceLine leads a project to the checkout from which this program was built. A
// program that was installed as a release needs none.
func replaceLine() string {
	_, file, _, ok := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(file), "..", "..")
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	installed := strings.Contains(root, "@")
	if !ok || err != nil || installed || !strings.HasPrefix(string(text), "module "+parleyModule+"\n") {
		return ""
	}
	root = filepath.ToSlash(root)
	if strings.ContainsAny(root, " \"'`,()[]{}") {
		root = strconv.Quote(root)
	}
	return fmt.Sprintf("\n// Parley as it is in this checkout; without the line, as it was released.\nreplace %s => %s\n", parleyModule, root)
}

// packageOf makes a name for a package of the language.
func packageOf(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9' && b.Len() > 0:
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
	}
	return b.String()
}
