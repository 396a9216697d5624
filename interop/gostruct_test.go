package interop

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/spec"
)

type (
	Base struct {
		ID   int    `json:"id"`
		Note string `json:"note" parley:"default=''"`
	}
	middle struct {
		_ struct{} `parley:"description='of the middle',closed"`
		Base
		Level Grade `json:"level"`
	}
	Derived struct {
		middle
		Extra []string `json:"extra"`
	}

	Item struct {
		Name string `json:"name"`
	}
	Page[T any] struct {
		Items []T        `json:"items"`
		First *T         `json:"first"`
		Seen  map[int]*T `json:"seen"`
	}
	Shelf struct {
		Page  Page[Item] `json:"page"`
		Pages []Page[Item]
	}

	Pointers struct {
		List   []*int                `json:"list"`
		Map    map[string]*time.Time `json:"map"`
		Deep   [][]*Item             `json:"deep"`
		Grades []*Grade              `json:"grades"`
		Two    **int                 `json:"two"`
	}

	Arrays struct {
		Three [3]int          `json:"three"`
		None  [0]string       `json:"none"`
		Mixed line            `json:"mixed" parley:"tuple"`
		Lines []line          `json:"lines" parley:"tuple"`
		Days  [2]time.Time    `json:"days" parley:"date"`
		ByKey map[string]line `json:"by_key" parley:"tuple"`
	}
	line struct {
		From  int
		To    *Item
		Grade Grade
		Any   any
	}

	Aliased struct {
		UserName string `json:"user_name" parley:"alias=userName"`
		When     *int   `json:"when" parley:"alias=at-time,default=3"`
	}

	Grade  int
	Color  string
	Graded struct {
		Color  Color            `json:"color"`
		Grade  Grade            `json:"grade" parley:"default=2"`
		Maybe  *Color           `json:"maybe" parley:"description=perhaps"`
		Colors []Color          `json:"colors"`
		ByName map[string]Grade `json:"by_name" parley:"title=By"`
		Tint   Color            `json:"tint" parley:"default=red,title=Tint"`
	}

	Circle struct {
		Kind   string  `json:"kind" parley:"literal=circle|disc"`
		Radius float64 `json:"radius"`
	}
	Square struct {
		Kind string `json:"kind" parley:"literal=square"`
		Side int    `json:"side"`
	}
	Shape  interface{ shape(func(Circle, *Square)) }
	Shapes struct {
		One   Shape   `json:"one" parley:"tag=kind"`
		Tried Shape   `json:"tried"`
		Many  []Shape `json:"many"`
		Maybe Shape   `json:"maybe,omitempty" parley:"tag=kind,description='one, or none'"`
	}

	Omitted struct {
		A string          `json:"a,omitempty"`
		B []int           `json:"b,omitzero"`
		C map[string]any  `json:"c,omitempty"`
		D json.RawMessage `json:"d"`
		E Item            `json:"e,omitzero"`
		F bool            `json:"f" parley:"optional"`
		G *float64        `json:"g" parley:"nullable"`
		H any             `json:"h" parley:"nullable"`
		I string          `json:"-"`
	}

	Untitled struct {
		A string `json:"a" parley:"untitled"`
		B Item   `json:"b" parley:"description=an item"`
		C int    `json:"c" parley:"title=See,default=1"`
	}

	Defaults struct {
		Text    string            `json:"text" parley:"default='a, \\'b\\''"`
		Number  float64           `json:"number" parley:"default=1"`
		Price   string            `json:"price" parley:"decimal,default=1.50,above=0"`
		At      time.Time         `json:"at" parley:"default=2026-01-02T03:04:05+00:00"`
		For     time.Duration     `json:"for_" parley:"default=90.5"`
		ID      uuid.UUID         `json:"id" parley:"uuid4,default=0b9bd2c6-6d3e-4a39-9a25-0d7f1b0b3c11"`
		Raw     []byte            `json:"raw" parley:"default=xyz"`
		List    []string          `json:"list" parley:"default='[\"a\", \"b\"]'"`
		Map     map[string]int    `json:"map" parley:"default={}"`
		Literal string            `json:"literal" parley:"literal=x|y,default=y"`
		Numbers int               `json:"numbers" parley:"literal=1|2"`
		Email   string            `json:"email" parley:"format=color,default=red"`
		Nested  map[string][]Item `json:"nested"`
	}
)

func (Grade) EnumValues() []any             { return []any{1, uint8(2), Grade(3)} }
func (*Color) EnumValues() []any            { return []any{"red", Color("green")} }
func (Circle) shape(func(Circle, *Square))  {}
func (*Square) shape(func(Circle, *Square)) {}

// TestGoStructsHaveTheDigestsOfPythonClasses sets Go structs beside the classes
// of the same names in testdata/go_structs.py.
func TestGoStructsHaveTheDigestsOfPythonClasses(t *testing.T) {
	read := map[string]func() (*spec.Record, error){
		"Derived":  spec.FromGo[Derived],
		"Shelf":    spec.FromGo[Shelf],
		"Pointers": spec.FromGo[Pointers],
		"Arrays":   spec.FromGo[Arrays],
		"Aliased":  spec.FromGo[Aliased],
		"Graded":   spec.FromGo[Graded],
		"Shapes":   spec.FromGo[Shapes],
		"Omitted":  spec.FromGo[Omitted],
		"Untitled": spec.FromGo[Untitled],
		"Defaults": spec.FromGo[Defaults],
	}
	for _, python := range modelsOf(t, "testdata/go_structs.py") {
		if read[python.Name] == nil {
			continue // a part of one of the others
		}
		t.Run(python.Name, func(t *testing.T) {
			model, err := read[python.Name]()
			if err != nil {
				t.Fatal(err)
			}
			if got := digest(t, model); got != python.Digest {
				ours, _ := spec.Schema(model)
				t.Errorf("digest = %s, want %s\n  ours %s\ntheirs %s", got, python.Digest, ours, python.Schema)
			}
		})
		delete(read, python.Name)
	}
	for name := range read {
		t.Errorf("there is no Python class %s", name)
	}
}
