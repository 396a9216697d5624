package parley

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/parley-agents/parley/spec"
	"github.com/parley-agents/parley/wire/uagents"
)

// ErrorMessage is how an agent says to a peer that something went wrong. It is
// an allowed reply to every message and is never answered by another.
type ErrorMessage struct {
	_     struct{} `parley:"description='Error message model'"`
	Error string   `json:"error"`
}

// ErrorMessageDigest is the model digest of [ErrorMessage], known to every agent.
const ErrorMessageDigest = "model:94cb082f79871c5e80a20637f935d233f0ce11a135d5a3a3c6071e81102a84d5"

// A model is a Go type as a message: its record, its digest and its codecs.
type model struct {
	typ         reflect.Type
	record      *spec.Record
	digest      string
	strict, lax *uagents.Codec
}

func (m *model) codec(lax bool) *uagents.Codec {
	if lax {
		return m.lax
	}
	return m.strict
}

// models holds what was learned of Go types by reflection. It is the one cache
// of the package: types do not change, and there are only as many as the
// program has.
var models sync.Map // reflect.Type → *model

// modelOf reads a Go type as a message, once.
func modelOf(t reflect.Type) (*model, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if m, ok := models.Load(t); ok {
		return m.(*model), nil
	}
	record, err := spec.FromGoType(t)
	if err != nil {
		return nil, err
	}
	m := &model{typ: t, record: record}
	if m.digest, err = spec.Digest(record); err != nil {
		return nil, err
	}
	if m.strict, err = uagents.NewCodec(record, &uagents.CodecOptions{Generated: true}); err != nil {
		return nil, err
	}
	if m.lax, err = uagents.NewCodec(record, &uagents.CodecOptions{Lax: true}); err != nil {
		return nil, err
	}
	stored, _ := models.LoadOrStore(t, m)
	return stored.(*model), nil
}

// repliesOf returns the models that a reply type stands for: a struct for
// itself, a sealed interface for its variants.
func repliesOf(t reflect.Type) ([]*model, error) {
	variants := []reflect.Type{t}
	if t.Kind() == reflect.Interface {
		listed, ok := spec.Variants(t)
		if !ok {
			return nil, fmt.Errorf("%s lists no variants: a reply is a struct or a sealed interface, see spec.FromGo", t)
		}
		variants = listed
	}
	var all []*model
	for _, v := range variants {
		m, err := modelOf(v)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

var errorModel = func() *model {
	m, err := modelOf(reflect.TypeFor[ErrorMessage]())
	if err != nil {
		panic(err) // ErrorMessage is a fixed type
	}
	return m
}()
