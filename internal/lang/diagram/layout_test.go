package diagram

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley/internal/lang/check"
	"github.com/parley-agents/parley/spec"
)

// protocols returns the protocols of this project and the examples of the language.
func protocols(t *testing.T) map[string]*spec.Protocol {
	t.Helper()
	all := make(map[string]*spec.Protocol)
	for _, pattern := range []string{"../../../protocol/*/*.parley", "../check/testdata/examples/*.parley"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, name := range files {
			source, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range check.File(filepath.ToSlash(name), source, check.Options{}).Protocols {
				all[filepath.Base(filepath.Dir(name))+" "+p.Name] = p.Spec
			}
		}
	}
	return all
}

// random makes a protocol of any shape, also of shapes that the checker refuses.
func random(seed uint64, most int) *spec.Protocol {
	r := rand.New(rand.NewPCG(seed, 7))
	p := &spec.Protocol{Name: "Random", Roles: []spec.Role{{Name: "a"}, {Name: "b"}}[:r.IntN(3)]}
	n := 1 + r.IntN(most)
	name := func() string { return "m" + strings.Repeat("x", r.IntN(30)) }
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint(name(), i)
		p.Messages = append(p.Messages, spec.Message{Name: names[i], Class: spec.Class(r.IntN(7))})
		if len(p.Roles) == 2 && r.IntN(2) == 0 {
			p.Messages[i].From = []string{p.Roles[r.IntN(2)].Name}
		}
	}
	some := func(most int) []string {
		var all []string
		for range r.IntN(most + 1) {
			all = append(all, names[r.IntN(n)])
		}
		return all
	}
	for _, m := range names {
		rule := spec.Rule{Message: m, Replies: some(3), MayRest: r.IntN(6) == 0}
		if r.IntN(4) == 0 {
			rule.Within = time.Duration(1+r.IntN(100)) * time.Second
			rule.Else = []string{"", "lost", names[r.IntN(n)]}[r.IntN(3)]
		}
		p.Rules = append(p.Rules, rule)
	}
	if r.IntN(8) > 0 {
		p.Dialogue = &spec.Dialogue{Initiates: []spec.Initiation{{Messages: append(some(3), names[0])}}, EndStates: []string{"good", "lost"}}
		for range r.IntN(4) {
			p.Dialogue.Outcomes = append(p.Dialogue.Outcomes, spec.Outcome{State: "good", Messages: some(3), After: some(2)})
		}
	}
	return p
}

func (b box) overlaps(o box) bool {
	return b.x < o.x+o.w && o.x < b.x+b.w && b.y < o.y+o.h && o.y < b.y+b.h
}

func (b box) holds(p point) bool {
	return p.x > b.x+0.5 && p.x < b.x+b.w-0.5 && p.y > b.y+0.5 && p.y < b.y+b.h-0.5
}

// drawn returns points along a route, as it is drawn.
func (r *route) drawn() []point {
	all, at := []point{r.from}, r.from
	for _, p := range r.parts {
		for i := 1; i <= 20; i++ {
			f := float64(i) / 20
			q := point{at.x + (p.to.x-at.x)*f, at.y + (p.to.y-at.y)*f}
			if p.bends { // a cubic whose handles are upright
				s := f * f * (3 - 2*f)
				q.x = at.x + (p.to.x-at.x)*s
			}
			if p.loop > 0 {
				q.x += p.loop * 4 * f * (1 - f)
			}
			all = append(all, q)
		}
		at = p.to
	}
	return all
}

// legible says what is wrong with a layout.
func legible(g *Graph, l *layout) error {
	page := box{0, 0, l.width, l.height}
	inside := func(b box) bool {
		return b.x >= 0 && b.y >= 0 && b.x+b.w <= page.w && b.y+b.h <= page.h
	}
	for i, b := range l.boxes {
		if !inside(b) {
			return fmt.Errorf("%q is not on the page", g.Nodes[i].Name)
		}
		if name := brief(g.Nodes[i].Name, nameChars); b.w < float64(columns(name))*nameChar+20 && name != "" {
			return fmt.Errorf("%q does not fit its box", name)
		}
		for k := range i {
			if b.overlaps(l.boxes[k]) {
				return fmt.Errorf("%q lies on %q", g.Nodes[i].Name, g.Nodes[k].Name)
			}
		}
	}
	for i := range l.routes {
		r, e := &l.routes[i], &g.Edges[i]
		if len(r.parts) == 0 {
			return fmt.Errorf("edge %v is not drawn", *e)
		}
		if (e.Label != "") != (len(r.lines) > 0) {
			return fmt.Errorf("the label %q is lost", e.Label)
		}
		if len(r.lines) > 0 {
			if r.label.h < labelLine*float64(len(r.lines)) || r.label.w < labelWidth(r.lines) {
				return fmt.Errorf("the label %q has not the room that it needs", e.Label)
			}
			if !inside(r.label) {
				return fmt.Errorf("the label %q is not on the page", e.Label)
			}
			for k, b := range l.boxes {
				if r.label.overlaps(b) {
					return fmt.Errorf("the label %q lies on %q", e.Label, g.Nodes[k].Name)
				}
			}
			for k := range i {
				if o := &l.routes[k]; len(o.lines) > 0 && o.label.overlaps(r.label) {
					return fmt.Errorf("the labels %q and %q lie on each other", e.Label, g.Edges[k].Label)
				}
			}
		}
		if err := passes(g, l, i); err != nil {
			return err
		}
	}
	return nil
}

// passes asks that an edge goes from box to box and through nothing else.
func passes(g *Graph, l *layout, edge int) error {
	r, e := &l.routes[edge], &g.Edges[edge]
	touches := func(p point, b box) bool {
		return p.x >= b.x && p.x <= b.x+b.w && p.y >= b.y && p.y <= b.y+b.h
	}
	if !touches(r.from, l.boxes[e.From]) || !touches(r.tip, l.boxes[e.To]) {
		return fmt.Errorf("edge %v does not reach its boxes", *e)
	}
	for _, p := range r.drawn() {
		for i, b := range l.boxes {
			if b.holds(p) {
				return fmt.Errorf("edge %v runs through %q", *e, g.Nodes[i].Name)
			}
		}
		for i := range l.routes {
			if i != edge && len(l.routes[i].lines) > 0 && l.routes[i].label.holds(p) {
				return fmt.Errorf("edge %v runs through the label %q", *e, g.Edges[i].Label)
			}
		}
	}
	return nil
}

func TestProtocolsAreLegible(t *testing.T) {
	for name, p := range protocols(t) {
		g := States(p)
		l, ok := lay(g)
		if !ok {
			t.Errorf("%s is not drawn", name)
			continue
		}
		if err := legible(g, l); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if l.width > 1000 || l.height > 1000 {
			t.Errorf("%s is %v by %v: it does not fit a screen", name, l.width, l.height)
		}
	}
}

func TestRandomProtocolsAreLegible(t *testing.T) {
	seeds, drawn := uint64(400), 0
	if os.Getenv("PARLEY_LONG") != "" {
		seeds = 20_000
	}
	for seed := range seeds {
		g := States(random(seed, 14))
		l, ok := lay(g)
		if !ok {
			continue
		}
		drawn++
		if err := legible(g, l); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if l.width > 6000 || l.height > 6000 {
			t.Fatalf("seed %d: %v by %v for %d nodes and %d edges", seed, l.width, l.height, len(g.Nodes), len(g.Edges))
		}
	}
	if drawn < int(seeds) {
		t.Errorf("only %d of %d are drawn", drawn, seeds)
	}
}

func TestFipaHasFewCrossings(t *testing.T) {
	g := States(protocols(t)["fipa Fipa"])
	l, _ := lay(g)
	crossed := 0
	for i := range l.routes {
		for k := range i {
			if cross(l.routes[i].drawn(), l.routes[k].drawn()) {
				crossed++
			}
		}
	}
	if crossed > 6 {
		t.Errorf("%d pairs of lines cross", crossed)
	}
}

func cross(a, b []point) bool {
	side := func(p, q, r point) float64 { return (q.x-p.x)*(r.y-p.y) - (q.y-p.y)*(r.x-p.x) }
	for i := 1; i < len(a); i++ {
		for k := 1; k < len(b); k++ {
			if side(a[i-1], a[i], b[k-1])*side(a[i-1], a[i], b[k]) < 0 && side(b[k-1], b[k], a[i-1])*side(b[k-1], b[k], a[i]) < 0 {
				return true
			}
		}
	}
	return false
}

// A protocol of hundreds of messages costs little and says that it is not drawn.
func TestWhatIsTooLargeIsSaid(t *testing.T) {
	start := time.Now()
	for seed := range uint64(4) {
		p := random(seed, 2)
		for i := range 600 {
			name := fmt.Sprint("more", i)
			p.Messages = append(p.Messages, spec.Message{Name: name})
			p.Rules = append(p.Rules, spec.Rule{Message: name, Replies: []string{fmt.Sprint("more", (i*7)%600), fmt.Sprint("more", (i+1)%600)}})
		}
		if p.Dialogue != nil {
			p.Dialogue.Initiates[0].Messages = append(p.Dialogue.Initiates[0].Messages, "more0")
		}
		svg := string(States(p).SVG(Options{}))
		if !strings.Contains(svg, "too many to draw") {
			t.Error("it does not say so")
		}
		if n := len(Ways(p).SVG(Options{})); n > 1<<20 {
			t.Errorf("the ways take %d bytes", n)
		}
	}
	for _, n := range []int{40, 100, 118} { // a chain with a way back from everywhere to everywhere before
		p := &spec.Protocol{Name: "Dense", Dialogue: &spec.Dialogue{Initiates: []spec.Initiation{{Messages: []string{"m0"}}}}}
		for i := range n {
			rule := spec.Rule{Message: fmt.Sprint("m", i)}
			for k := range min(n, i+2) {
				rule.Replies = append(rule.Replies, fmt.Sprint("m", k))
			}
			p.Messages = append(p.Messages, spec.Message{Name: rule.Message})
			p.Rules = append(p.Rules, rule)
		}
		if svg := States(p).SVG(Options{}); len(svg) > 4<<20 {
			t.Errorf("%d messages take %d bytes", n, len(svg))
		}
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it takes %v", took)
	}
}

func TestPlacesAreNearestToWhatIsWanted(t *testing.T) {
	l := &layouter{g: &Graph{}}
	for i := range 5 {
		l.vertices = append(l.vertices, vertex{node: i, edge: -1, left: 10, right: 10, x: []float64{0, 3, 100, 101, 300}[i]})
	}
	l.placeLayer([]int{0, 1, 2, 3, 4}, true, true)
	var got []float64
	for _, v := range l.vertices {
		got = append(got, v.x)
	}
	// Two pairs are in each other's way and part evenly; the last one stays.
	if want := []float64{-19, 23, 80, 122, 300}; !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) <= 1 }) {
		t.Errorf("got %v, want %v", got, want)
	}
}
