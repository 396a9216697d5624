// Package aea knows the protocol specifications of the AEA framework: YAML files
// of up to three documents that name speech acts, custom types and a dialogue.
//
// [Read] takes one as the framework does, refusing what it refuses, and also custom
// types whose body is no text:
//
//	s, err := aea.Read(text)
//	source := s.Source()        // the same protocol in the language of Parley
//	schema := s.Proto(aea.Open) // what its messages look like on the wire
//
// [FromProtocol] goes the other way, and [Specification.YAML] writes the file. The
// two flavours of the framework, open-aea and the older aea, read the same files;
// they differ only in the width of numbers on the wire.
//
// The package is pure.
package aea

// A Specification is a protocol as the framework has it.
type Specification struct {
	Name        string // such as "oef_search"
	Author      string
	Version     string
	Description string
	License     string
	AEAVersion  string // which frameworks it is for, such as ">=2.0.0, <3.0.0"
	ID          string // of the protocol on the wire, such as "fetchai/oef_search:1.0.0"

	SpeechActs  []SpeechAct
	CustomTypes []CustomType
	Dialogue    *Dialogue // nil if the file has none

	order      []string // of the keys of the first document, if it is not the usual one
	emptyTypes bool     // there is a document for custom types with none in it
}

// A SpeechAct is a message.
type SpeechAct struct {
	Name     string
	Contents []Content
}

// A Content is a field of a message. Type is in the framework's notation, such as
// "pt:list[pt:str]".
type Content struct{ Name, Type string }

// A CustomType is the body of a protobuf message, as it was written.
type CustomType struct{ Name, Body string }

// A Dialogue says which messages may follow which.
type Dialogue struct {
	Initiation   []string
	Reply        []Reply
	Termination  []string
	Roles        []string
	EndStates    []string
	KeepTerminal bool
}

// A Reply lists what may answer a message.
type Reply struct {
	Message string
	Replies []string
}

// Keys of the first document, in their usual order.
var metaKeys = []string{
	"name", "author", "version", "description", "license", "aea_version", "protocol_specification_id", "speech_acts",
}

// fields are the texts of the first document by their keys.
func (s *Specification) fields() map[string]*string {
	return map[string]*string{
		"name": &s.Name, "author": &s.Author, "version": &s.Version, "description": &s.Description, "license": &s.License,
		"aea_version": &s.AEAVersion, "protocol_specification_id": &s.ID,
	}
}
