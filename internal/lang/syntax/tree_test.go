package syntax_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/parley-agents/parley/internal/lang/syntax"
)

// shape returns a tree as text without what depends on the layout: places and
// empty lines. Two sources of equal shape mean the same and have their comments
// at the same items.
func shape(f *syntax.File) string {
	var b strings.Builder
	fmt.Fprintf(&b, "tail %v\n", texts(f.Tail))
	for _, item := range f.Items {
		write(&b, reflect.ValueOf(item), 0)
	}
	return b.String()
}

func texts(list []syntax.Comment) (all []string) {
	for _, c := range list {
		all = append(all, c.Text)
	}
	return all
}

func write(b *strings.Builder, v reflect.Value, depth int) {
	indent := strings.Repeat(" ", depth)
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			b.WriteString(indent + "nil\n")
			return
		}
		write(b, v.Elem(), depth)
	case reflect.Struct:
		b.WriteString(indent + v.Type().Name() + "\n")
		for i := range v.NumField() {
			switch name := v.Type().Field(i).Name; name {
			case "Span", "Blank":
			default:
				b.WriteString(indent + name + ":\n")
				write(b, v.Field(i), depth+1)
			}
		}
	case reflect.Slice:
		fmt.Fprintf(b, "%s%d of them, nil %t\n", indent, v.Len(), v.IsNil())
		for i := range v.Len() {
			write(b, v.Index(i), depth+1)
		}
	default:
		fmt.Fprintf(b, "%s%q\n", indent, fmt.Sprint(v.Interface()))
	}
}

// commentsOf returns all comments of a tree, in the order of the alphabet.
func commentsOf(f *syntax.File) []string {
	var all []string
	collect(reflect.ValueOf(f.Items), &all)
	collect(reflect.ValueOf(f.Tail), &all)
	slices.Sort(all)
	return all
}

func collect(v reflect.Value, all *[]string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			collect(v.Elem(), all)
		}
	case reflect.Struct:
		if c, ok := v.Interface().(syntax.Comment); ok {
			*all = append(*all, c.Text)
			return
		}
		for _, field := range v.Fields() {
			collect(field, all)
		}
	case reflect.Slice:
		for i := range v.Len() {
			collect(v.Index(i), all)
		}
	}
}
