package main

import (
	"bytes"
	"encoding/json"
	"strings"

	pb "amplifier.local/kit/contract"
)

// toolResult is what a tool answered, as events carry it.
type toolResult struct {
	Success bool            `json:"success"`
	Output  json.RawMessage `json:"output"`
	Error   json.RawMessage `json:"error"`
}

func text(role pb.Role, content string) *pb.Message {
	return &pb.Message{Role: role, Content: &pb.Message_TextContent{TextContent: content}}
}

// assistant is the response as it is stored, with its calls both where the contract has
// room for them and where contexts in Python look for them.
func assistant(response *pb.ChatResponse) *pb.Message {
	if len(response.ToolCalls) == 0 {
		return text(pb.Role_ROLE_ASSISTANT, textOf(response))
	}
	blocks, known := response.ContentBlocks, map[string]bool{}
	for _, block := range blocks {
		known[block.GetToolCallBlock().GetId()] = true
	}
	var calls []data
	for _, call := range response.ToolCalls {
		calls = append(calls, data{"id": call.Id, "tool": call.Name, "arguments": raw(call.ArgumentsJson)})
		if !known[call.Id] {
			block := &pb.ToolCallBlock{Id: call.Id, Name: call.Name, InputJson: call.ArgumentsJson}
			blocks = append(blocks, &pb.ContentBlock{
				Block: &pb.ContentBlock_ToolCallBlock{ToolCallBlock: block},
			})
		}
	}
	extra, _ := json.Marshal(data{"x-amplifier-extra": data{"tool_calls": calls}})
	list := &pb.ContentBlockList{Blocks: blocks}
	return &pb.Message{
		Role: pb.Role_ROLE_ASSISTANT, MetadataJson: string(extra),
		Content: &pb.Message_BlockContent{BlockContent: list},
	}
}

func result(call *pb.ToolCallMessage, content string) *pb.Message {
	message := text(pb.Role_ROLE_TOOL, content)
	message.Name, message.ToolCallId = call.Name, call.Id
	return message
}

// outcome is what the model reads of a tool's result: text as it is, all else as JSON.
func outcome(result toolResult) string {
	shown := result.Output
	if len(shown) == 0 || string(shown) == "null" {
		shown = result.Error
	}
	var plain string
	if json.Unmarshal(shown, &plain) == nil {
		return plain
	}
	var failure struct{ Message string }
	if !result.Success && json.Unmarshal(shown, &failure) == nil && failure.Message != "" {
		return failure.Message
	}
	return readable(shown)
}

// readable is the same JSON with its letters as they are.
func readable(given json.RawMessage) string {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(given))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return string(given)
	}
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) != nil {
		return string(given)
	}
	return strings.TrimSpace(text.String())
}

func textOf(response *pb.ChatResponse) string {
	var text strings.Builder
	for _, block := range response.ContentBlocks {
		text.WriteString(block.GetTextBlock().GetText())
	}
	return text.String()
}

// left is a part of an event's data as the hooks left it; nil if they do not say.
func left(verdict *pb.HookResult, key string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(verdict.DataJson), &fields) != nil {
		return nil
	}
	return fields[key]
}

// raw is JSON text as a value; none is null.
func raw(text string) json.RawMessage {
	if !json.Valid([]byte(text)) {
		return json.RawMessage("null")
	}
	return json.RawMessage(text)
}

func usage(response *pb.ChatResponse) any {
	if response.Usage == nil {
		return nil
	}
	return data{
		"input_tokens": response.Usage.PromptTokens, "output_tokens": response.Usage.CompletionTokens,
		"total_tokens": response.Usage.TotalTokens,
	}
}

func about(kind string, err error) data {
	return data{"type": kind, "msg": err.Error()}
}
