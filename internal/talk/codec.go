package talk

import (
	"sync"

	"github.com/parley-agents/parley/protocol/chat"
	"github.com/parley-agents/parley/spec"
	"github.com/parley-agents/parley/wire/uagents"
)

// What is read here was taken over by chat.NewPerson, so it is read in the same
// generous way.

// A kind is one of the models of the protocol.
type kind struct {
	schema string
	codec  *uagents.Codec
}

func kindOf[T any]() kind {
	model, err := spec.FromGo[T]()
	if err != nil {
		panic(err) // the types are fixed
	}
	k := kind{}
	if k.schema, err = spec.Digest(model); err != nil {
		panic(err)
	}
	if k.codec, err = uagents.NewCodec(model, &uagents.CodecOptions{Lax: true}); err != nil {
		panic(err)
	}
	return k
}

var (
	messages = sync.OnceValue(kindOf[chat.ChatMessage])
	acks     = sync.OnceValue(kindOf[chat.ChatAcknowledgement])
)

func messageSchema() string { return messages().schema }

// isMessage knows a message also as the uAgents example prints it: the text of it
// is the same.
func isMessage(schema string) bool {
	return schema == messageSchema() || schema == chat.PrintedMessageDigest
}

func ackSchema() string { return acks().schema }

func readMessage(payload []byte) (m chat.ChatMessage, err error) {
	if payload, err = chat.Mend(payload); err != nil {
		return m, err
	}
	err = messages().codec.Unmarshal(payload, &m)
	return m, err
}

func readAck(payload []byte) (a chat.ChatAcknowledgement, err error) {
	if payload, err = chat.MendAcknowledgement(payload); err != nil {
		return a, err
	}
	err = acks().codec.Unmarshal(payload, &a)
	return a, err
}
