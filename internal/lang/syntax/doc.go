// Package syntax reads and writes the text of protocols: [Parse] makes a tree of
// a source, with its comments, and reports every mistake; [Format] writes a tree
// in the one canonical layout.
//
// The grammar is LL(2) and has no reserved words. A source may be a Markdown
// page; then its code blocks are read, and places are those of the page.
package syntax
