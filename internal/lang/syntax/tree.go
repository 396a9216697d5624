package syntax

import (
	"slices"
	"strings"

	"github.com/parley-agents/parley/internal/lang/diag"
)

// A Span is a piece of a source, as byte offsets; see [File.At].
type Span struct{ Start, End int32 }

// A File is a parsed source.
type File struct {
	Name   string
	Items  []Item    // in the order of the source: edition, package, imports, declarations
	Tail   []Comment // after the last item
	Broken bool      // a mistake was found in it

	src    string // the page as it was read
	lines  []int32
	last   diag.Pos // the place that was asked for last
	blocks []Span   // of code, in a Markdown page
	lost   []string // names in what was not understood
	hidden bool     // a declaration has no name
}

// Lost reports whether a name may be that of a declaration which was not
// understood.
func (f *File) Lost(name string) bool { return f.hidden || slices.Contains(f.lost, name) }

// A Comment is one comment with its marks, such as "// text".
type Comment struct {
	Span
	Text  string
	Blank bool // an empty line stands before it
}

// Doc reports whether the comment documents the declaration after it.
func (c Comment) Doc() bool {
	return len(c.Text) >= 3 && c.Text[:3] == "///"
}

// Comments belong to the item they stand before, within or behind. Those within
// an item that have no better place are the last of Before.
type Comments struct {
	Before []Comment
	Behind []Comment // on the line where the item ends
}

// A Node is what all items have in common.
type Node struct {
	Span
	Comments    *Comments // nil if there are none
	Annotations []*Annotation
	Blank       bool // an empty line stands between it and what is before it
	Broken      bool // a mistake was found in it, so it may lack parts
}

// Base returns the node itself.
func (n *Node) Base() *Node { return n }

// Doc returns the text of the comments that document the item: those that begin
// with "///" before it, else one that begins with "//" on its last line.
func (n *Node) Doc() string { return docOf(n.Comments) }

// An Item is a line of a file, of a protocol, a dialogue, a flow, a record or an
// enum: one of the types below that hold a [Node].
type Item interface{ Base() *Node }

// A Name is an identifier. Quoted ones stood in backticks and are taken as
// written.
type Name struct {
	Span
	Text   string
	Quoted bool
}

// A QName is a name with dots. Rest is nil for a plain name.
type QName struct {
	First Name
	Rest  []Name
}

// String returns the names with dots between them.
func (q *QName) String() string {
	var s strings.Builder
	s.WriteString(q.First.Text)
	for _, n := range q.Rest {
		s.WriteString("." + n.Text)
	}
	return s.String()
}

// At returns where the name stands.
func (q *QName) At() Span {
	if len(q.Rest) == 0 {
		return q.First.Span
	}
	return Span{q.First.Start, q.Rest[len(q.Rest)-1].End}
}

// Top-level items.
type (
	// An Edition says which version of the language the file is written in.
	Edition struct {
		Node
		Value *Literal
	}
	// A Package names what the file declares. Version is nil if it has none.
	Package struct {
		Node
		Name    QName
		Version *Literal
	}
	// An Import makes the declarations of another file known, under Alias if it
	// is not empty.
	Import struct {
		Node
		Path  *Literal
		Alias Name
	}
	// A TypeDecl names a type.
	TypeDecl struct {
		Node
		Open bool
		Name Name
		Type Type
	}
	// An EnumDecl is a named list of values. Its items are *EnumValue and *Reserved.
	EnumDecl struct {
		Node
		Open  bool
		Name  Name
		Items []Item
		Tail  []Comment
	}
	// An EnumValue has a literal for the wire, or none.
	EnumValue struct {
		Node
		Name  Name
		Value *Literal
	}
	// Reserved are names and numbers that must not be used again.
	Reserved struct {
		Node
		Ranges []ReservedRange
	}
	// A MessageDecl is a type that travels on its own. Class may be any word.
	// Alias tells `message X = T` from `message X { … }`.
	MessageDecl struct {
		Node
		Name  Name
		Class Name // empty if there is none
		From  []Name
		Alias bool
		Body  Type // a *Record unless Alias is set
	}
	// A CustomDecl is the body of a proto3 message.
	CustomDecl struct {
		Node
		Name Name
		Body *Literal
	}
	// An AnnotationDecl declares an annotation.
	AnnotationDecl struct {
		Node
		Name   QName
		Params []Param
		On     []Name
	}
	// A ProtocolDecl holds declarations and at most one *Roles, *Dialogue and
	// *Flow (which [Parse] does not check).
	ProtocolDecl struct {
		Node
		Name    Name
		Version *Literal
		Extends *QName
		Items   []Item
		Tail    []Comment
		Lost    bool // something in it was not understood at all
	}
)

// A ReservedRange is a name, a number or a range of numbers.
type ReservedRange struct {
	Name     Name
	From, To *Literal // To is nil for one number
}

// A Param is a parameter of an annotation.
type Param struct {
	Name    Name
	Type    Type
	Default *Literal
}

// Items of a protocol.
type (
	// Roles are the parties of a protocol.
	Roles struct {
		Node
		Roles []Role
	}
	// A Dialogue is the reply graph. Its items are *Initiates, *Rule, *NameList,
	// *KeepTerminal, *Timeout and *Outcome.
	Dialogue struct {
		Node
		Items []Item
		Tail  []Comment
	}
	// A Flow is a protocol told as a sequence.
	Flow struct {
		Node
		Block Block
	}
)

// A Role has bounds if it was written as role[2] or role[1..*].
type Role struct {
	Name     Name
	Min, Max *Literal // Max is nil for role[2]
	Many     bool     // role[1..*]
}

// Items of a dialogue.
type (
	// Initiates names the messages that open an exchange.
	Initiates struct {
		Node
		Messages []Name
		By       []Name
	}
	// A Rule lists the replies to a message.
	Rule struct {
		Node
		Message Name
		Replies []Name
		MayRest bool // a '?' after the list
		By      []Name
		Within  *Literal
		Else    Name
	}
	// A NameList is `terminates` or `end_states`.
	NameList struct {
		Node
		Word  string
		Names []Name
	}
	// KeepTerminal says whether ended dialogues are kept.
	KeepTerminal struct {
		Node
		Value *Literal
	}
	// A Timeout bounds the whole dialogue.
	Timeout struct {
		Node
		Value *Literal
	}
	// An Outcome binds an end state to last messages.
	Outcome struct {
		Node
		State     Name
		OnTimeout bool
		Messages  []Name
		After     []Name
	}
)

// A Block is a sequence of steps: *Send, *Choice, *Loop, *Continue, *Parallel,
// *Do and *End.
type Block struct {
	Span
	Steps []Item
	Tail  []Comment
}

// Steps of a flow.
type (
	// A Send is a message from one role to others.
	Send struct {
		Node
		From    Name
		To      []Name
		Message Name
		Within  *Literal
	}
	// A Choice is made by one role.
	Choice struct {
		Node
		At     Name
		Blocks []Block
	}
	// A Loop can be gone on with inside.
	Loop struct {
		Node
		Label Name
		Block Block
	}
	// Continue goes back to the start of a loop.
	Continue struct {
		Node
		Label Name
	}
	// Parallel blocks run in any order.
	Parallel struct {
		Node
		Blocks []Block
	}
	// Do runs another protocol.
	Do struct {
		Node
		Protocol Name
		Roles    []Name
	}
	// End is the end of the dialogue. State may be empty.
	End struct {
		Node
		State Name
	}
)

// A Type is one of [*Named], [*Record], [*Union], [*Optional] and [*LiteralType].
type Type interface{ At() Span }

// At returns the span itself; it makes a type of whatever holds one.
func (s Span) At() Span { return s }

type (
	// Named is a built-in or declared type, with type arguments and constraints.
	Named struct {
		Span
		Name QName
		Of   []Type
		Args []Arg
	}
	// A Record is `{ … }`. Its members are *Field, *Spread and *Reserved.
	Record struct {
		Span
		Members []Item
		Tail    []Comment
		Whole   bool // both braces are there
	}
	// A Union has two or more variants.
	Union struct {
		Span
		Variants []Variant
	}
	// Optional is a type with a '?'.
	Optional struct {
		Span
		Type Type
	}
	// A LiteralType holds one value.
	LiteralType struct {
		Span
		Value *Literal
	}
)

// A Variant is a type of a union.
type Variant struct {
	Type     Type
	Comments *Comments
}

// Members of a record.
type (
	// A Field is a named member.
	Field struct {
		Node
		Name    Name
		Type    Type
		Default *Literal
	}
	// A Spread copies the members of a record.
	Spread struct {
		Node
		Name QName
	}
)

// An Annotation is `@name(args)`.
type Annotation struct {
	Span
	Name     QName
	Args     []Arg
	Comments *Comments // nil if there are none
	Broken   bool      // a mistake was found in it
}

// An Arg is an argument of an annotation or a constraint of a type. Name is
// empty if it was written without one.
type Arg struct {
	Name  Name
	Value *Literal
}

// A LiteralKind says which literal it is.
type LiteralKind uint8

// The kinds of literals. A Word is a name, among them true, false and null.
const (
	Word LiteralKind = iota
	String
	Text // in """
	Number
	Duration
	List
	Object
)

// A Literal is a value in a source.
type Literal struct {
	Span
	Kind    LiteralKind
	Raw     string // as written; of lists and objects empty
	Value   string // of strings and texts what they mean, of words the word
	Items   []*Literal
	Members []LiteralMember
}

// A LiteralMember is a member of an object.
type LiteralMember struct {
	Key    Name
	String bool // the key was written as a string
	Value  *Literal
}

// At returns a span with the lines and columns of the page. It remembers the
// last place, so a file is for one goroutine at a time.
func (f *File) At(s Span) diag.Span {
	return diag.Span{File: f.Name, Start: f.pos(s.Start), End: f.pos(s.End)}
}
