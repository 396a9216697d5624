package llamatest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// The sizes of the model: small enough to be made on the spot, large enough for
// llama.cpp to take it for a model.
const (
	width   = 64
	layers  = 2
	heads   = 4
	hidden  = 128
	context = 4096
)

// Kinds of values in a GGUF file, and of tokens.
const (
	kindUint32, kindInt32, kindFloat32, kindBool, kindString, kindArray = 4, 5, 6, 7, 8, 9

	tokenNormal, tokenUnknown, tokenControl, tokenByte = 1, 2, 3, 6
)

const alphabet = " abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789{}[]\":,.-_\n"

const template = `{%- for m in messages %}
{{- '<|im_start|>' + m.role + '\n' }}
{%- if m.content %}{{- m.content }}{%- endif %}
{{- '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}`

// A gguf is a model file in the making.
type gguf struct {
	keys, tensors, data bytes.Buffer
	nKeys, nTensors     uint64
}

func put(b *bytes.Buffer, values ...any) {
	for _, v := range values {
		if text, ok := v.(string); ok {
			put(b, uint64(len(text)))
			b.WriteString(text)
			continue
		}
		if err := binary.Write(b, binary.LittleEndian, v); err != nil {
			panic(err) // only fixed types are written
		}
	}
}

func (g *gguf) set(key string, kind uint32, value any) {
	g.nKeys++
	put(&g.keys, key, kind, value)
}

func (g *gguf) setList(key string, kind uint32, n int, item func(i int) any) {
	g.nKeys++
	put(&g.keys, key, uint32(kindArray), kind, uint64(n))
	for i := range n {
		put(&g.keys, item(i))
	}
}

// tensor adds a matrix of so many rows and columns; no rows is a vector.
func (g *gguf) tensor(name string, rows, columns int, values []float32) {
	g.nTensors++
	put(&g.tensors, name)
	if rows == 0 {
		put(&g.tensors, uint32(1), uint64(columns))
	} else {
		put(&g.tensors, uint32(2), uint64(columns), uint64(rows))
	}
	put(&g.tensors, uint32(0), uint64(g.data.Len())) // plain numbers, from here
	put(&g.data, values)
	pad(&g.data)
}

func pad(b *bytes.Buffer) {
	for b.Len()%32 != 0 {
		b.WriteByte(0)
	}
}

// newModel returns a model file of random weights, always the same. It knows
// single characters. Its words make no sense, but its first number is a channel
// by which each character has a weight of its own: texts end after a while, and
// quotes and brackets are closed.
func newModel() []byte {
	type token struct {
		text string
		kind int32
	}
	tokens := []token{{"<unk>", tokenUnknown}, {"<s>", tokenControl}, {"</s>", tokenControl}}
	for b := range 256 {
		tokens = append(tokens, token{fmt.Sprintf("<0x%02X>", b), tokenByte})
	}
	for _, c := range alphabet {
		text := string(c)
		if c == ' ' {
			text = "\u2581"
		}
		tokens = append(tokens, token{text, tokenNormal})
	}
	n := len(tokens)

	var g gguf
	g.set("general.architecture", kindString, "llama")
	g.set("general.name", kindString, "tiny-random")
	for _, size := range []struct {
		key   string
		value int
	}{
		{"context_length", context}, {"embedding_length", width}, {"block_count", layers}, {"feed_forward_length", hidden}, {"vocab_size", n},
		{"attention.head_count", heads}, {"attention.head_count_kv", heads}, {"rope.dimension_count", width / heads},
	} {
		g.set("llama."+size.key, kindUint32, uint32(size.value))
	}
	g.set("llama.attention.layer_norm_rms_epsilon", kindFloat32, float32(1e-5))
	g.set("tokenizer.ggml.model", kindString, "llama")
	g.setList("tokenizer.ggml.tokens", kindString, n, func(i int) any { return tokens[i].text })
	g.setList("tokenizer.ggml.scores", kindFloat32, n, func(i int) any { return -float32(max(0, i-259)) })
	g.setList("tokenizer.ggml.token_type", kindInt32, n, func(i int) any { return tokens[i].kind })
	for i, key := range []string{"unknown", "bos", "eos"} {
		g.set("tokenizer.ggml."+key+"_token_id", kindUint32, uint32(i))
	}
	g.set("tokenizer.ggml.add_bos_token", kindBool, true)
	g.set("tokenizer.ggml.add_eos_token", kindBool, false)
	g.set("tokenizer.chat_template", kindString, template)

	dice := rand.New(rand.NewPCG(7, 7))
	random := func(count int, scale float64) []float32 {
		values := make([]float32, count)
		for i := range values {
			values[i] = float32(dice.NormFloat64() * scale)
		}
		return values
	}
	in, out := random(n*width, 0.08), random(n*width, 0.32)
	weights := map[string]float32{"</s>": 0.3, `"`: 0.32, "}": 0.32, "]": 0.32, ",": 0.1, "\u2581": -0.3, "\n": -0.3}
	for i, t := range tokens {
		weight, given := weights[t.text]
		switch {
		case t.kind == tokenByte || t.kind == tokenUnknown:
			weight = -2
		case !given:
			weight = float32(dice.NormFloat64() * 0.08)
		}
		in[i*width], out[i*width] = 4, weight
	}
	ones := make([]float32, width)
	for i := range ones {
		ones[i] = 1
	}
	g.tensor("token_embd.weight", n, width, in)
	g.tensor("output_norm.weight", 0, width, ones)
	g.tensor("output.weight", n, width, out)
	for layer := range layers {
		name := func(part string) string { return fmt.Sprintf("blk.%d.%s.weight", layer, part) }
		g.tensor(name("attn_norm"), 0, width, ones)
		g.tensor(name("ffn_norm"), 0, width, ones)
		for _, part := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
			g.tensor(name(part), width, width, random(width*width, 0.08))
		}
		g.tensor(name("ffn_gate"), hidden, width, random(hidden*width, 0.08))
		g.tensor(name("ffn_up"), hidden, width, random(hidden*width, 0.08))
		g.tensor(name("ffn_down"), width, hidden, random(width*hidden, 0.08))
	}

	var file bytes.Buffer
	file.WriteString("GGUF")
	put(&file, uint32(3), g.nTensors, g.nKeys)
	file.Write(g.keys.Bytes())
	file.Write(g.tensors.Bytes())
	pad(&file)
	file.Write(g.data.Bytes())
	return file.Bytes()
}
