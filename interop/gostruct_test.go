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
// that a Python author would write for the same messages.
func TestGoStructsHaveTheDigestsOfPythonClasses(t *testing.T) {
	o := startOracle(t)
	const enums = `
class Grade(IntEnum):
    a = 1
    b = 2
    c = 3
class Color(str, Enum):
    red = "red"
    green = "green"
class Item(Model):
    name: str
`
	for name, tc := range map[string]struct {
		read   func() (*spec.Record, error)
		source string
	}{
		"embedded structs": {spec.FromGo[Derived], `
class Base(Model):
    id: int
    note: str = ""
class Middle(Base):
    level: Grade
class Derived(Middle):
    extra: List[str]`},
		"generics": {spec.FromGo[Shelf], `
class Page(Model):
    items: List[Item]
    first: Optional[Item]
    seen: Dict[int, Optional[Item]]
Page.__name__ = "Page[Item]"
class Shelf(Model):
    page: Page
    Pages: List[Page]`},
		"pointers in lists and maps": {spec.FromGo[Pointers], `
class Pointers(Model):
    list: List[Optional[int]]
    map: Dict[str, Optional[datetime]]
    deep: List[List[Optional[Item]]]
    grades: List[Optional[Grade]]
    two: Optional[int]`},
		"arrays and structs as tuples": {spec.FromGo[Arrays], `
line = Tuple[int, Optional[Item], Grade, Any]
class Arrays(Model):
    three: Tuple[int, int, int]
    none: Tuple[()]
    mixed: line
    lines: List[line]
    days: Tuple[date, date]
    by_key: Dict[str, line]`},
		"aliases": {spec.FromGo[Aliased], `
class Aliased(Model):
    user_name: str = Field(alias="userName")
    when: Optional[int] = Field(3, alias="at-time")`},
		"enums": {spec.FromGo[Graded], `
class Graded(Model):
    color: Color
    grade: Grade = Grade.b
    maybe: Optional[Color] = Field(description="perhaps")
    colors: List[Color]
    by_name: Dict[str, Grade] = Field(title="By")
    tint: Color = Field(Color.red, title="Tint")`},
		"a union told apart by a tag": {spec.FromGo[Shapes], `
class Circle(Model):
    kind: Literal["circle", "disc"]
    radius: float
class Square(Model):
    kind: Literal["square"]
    side: int
class Shapes(Model):
    one: Union[Circle, Square] = Field(discriminator="kind")
    tried: Union[Circle, Square]
    many: List[Union[Circle, Square]]
    maybe: Optional[Union[Circle, Square]] = Field(discriminator="kind", description="one, or none")`},
		"fields that may be left out": {spec.FromGo[Omitted], `
class Omitted(Model):
    a: Optional[str]
    b: Optional[List[int]]
    c: Optional[Dict[str, Any]]
    d: Any
    e: Optional[Item]
    f: Optional[bool]
    g: Optional[float] = Field(...)
    h: Any = Field(...)`},
		"without a title": {spec.FromGo[Untitled], `
class Untitled(Model):
    a: str
    b: Item = Field(description="an item")
    c: int = Field(1, title="See")
    class Config:
        def schema_extra(schema):
            del schema["properties"]["a"]["title"]`},
		"defaults": {spec.FromGo[Defaults], `
class Defaults(Model):
    text: str = "a, 'b'"
    number: float = 1
    price: Decimal = Field(Decimal("1.50"), gt=0)
    at: datetime = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
    for_: timedelta = timedelta(seconds=90.5)
    id: UUID4 = UUID("0b9bd2c6-6d3e-4a39-9a25-0d7f1b0b3c11")
    raw: bytes = b"xyz"
    list: List[str] = ["a", "b"]
    map: Dict[str, int] = {}
    literal: Literal["x", "y"] = "y"
    numbers: Literal[1, 2]
    email: Color_ = "red"
    nested: Dict[str, List[Item]]`},
	} {
		t.Run(name, func(t *testing.T) {
			model, err := tc.read()
			if err != nil {
				t.Fatal(err)
			}
			python := ask[description](o, map[string]any{"op": "model", "source": enums + tc.source, "names": []string{model.Name}})
			if got := digest(t, model); got != python.Digest {
				ours, _ := spec.Schema(model)
				t.Errorf("digest = %s, want %s\n  ours %s\ntheirs %s", got, python.Digest, ours, python.Schema)
			}
			if _, err := spec.ParseSchema([]byte(python.Schema)); err != nil {
				t.Error(err)
			}
		})
	}
}
