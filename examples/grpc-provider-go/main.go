// A provider in Go: it answers with what it was asked.
package main

import (
	"context"
	"encoding/json"
	"strings"

	"google.golang.org/grpc"

	"amplifier.local/kit"
	pb "amplifier.local/kit/contract"
)

const (
	window        = 100_000
	longestAnswer = 4_096
)

type settings struct{ prefix, model string }

func defaults() settings { return settings{model: "echo-1"} }

type provider struct {
	pb.UnimplementedProviderServiceServer
	sessions kit.Sessions[settings]
}

func main() {
	echo := &provider{}
	kit.Serve(kit.Module{
		Name: "echo", Version: "1.0.0", Kind: "provider",
		Register: func(server *grpc.Server) { pb.RegisterProviderServiceServer(server, echo) },
		Mount:    echo.mount,
		Cleanup:  echo.sessions.Forget,
	})
}

func (p *provider) mount(ctx context.Context, config kit.Config) error {
	wanted := defaults()
	wanted.prefix = config["prefix"]
	if model := config["model"]; model != "" {
		wanted.model = model
	}
	p.sessions.Put(ctx, wanted)
	return nil
}

// GetInfo says who this is, and what requests get that name nothing themselves.
func (p *provider) GetInfo(ctx context.Context, _ *pb.Empty) (*pb.ProviderInfo, error) {
	model := p.sessions.Of(ctx, defaults).model
	used := map[string]any{
		"model": model, "context_window": window, "max_output_tokens": longestAnswer,
	}
	return &pb.ProviderInfo{
		Id: "echo", DisplayName: "Echo", Capabilities: []string{"streaming", "tools"},
		DefaultsJson: toJSON(used),
	}, nil
}

// ListModels names the only model.
func (p *provider) ListModels(ctx context.Context, _ *pb.Empty) (*pb.ListModelsResponse, error) {
	model := p.sessions.Of(ctx, defaults).model
	return &pb.ListModelsResponse{Models: []*pb.ModelInfo{{
		Id: model, DisplayName: model, ContextWindow: window, MaxOutputTokens: longestAnswer,
		Capabilities: []string{"tools", "streaming"},
	}}}, nil
}

// Complete answers in one piece.
func (p *provider) Complete(ctx context.Context, request *pb.ChatRequest) (*pb.ChatResponse, error) {
	if err := p.think(ctx, request); err != nil {
		return nil, err
	}
	return p.answer(ctx, request)
}

// CompleteStreaming sends word after word, and last the whole, which alone has a finish_reason.
func (p *provider) CompleteStreaming(
	request *pb.ChatRequest, stream grpc.ServerStreamingServer[pb.ChatResponse],
) error {
	whole, err := p.answer(stream.Context(), request)
	if err != nil {
		return err
	}
	for index, word := range strings.SplitAfter(textOf(whole.ContentBlocks), " ") {
		if err := stream.Send(&pb.ChatResponse{ContentBlocks: textBlocks(word)}); err != nil {
			return err
		}
		if index > 0 {
			continue
		}
		if err := p.think(stream.Context(), request); err != nil {
			return err
		}
	}
	return stream.Send(whole)
}

// ParseToolCalls finds the calls in a response; here they are listed already.
func (p *provider) ParseToolCalls(
	_ context.Context, response *pb.ChatResponse,
) (*pb.ParseToolCallsResponse, error) {
	return &pb.ParseToolCallsResponse{ToolCalls: response.ToolCalls}, nil
}

// think takes as long as the request asks for.
func (p *provider) think(ctx context.Context, request *pb.ChatRequest) error {
	if text, isOrder := question(request); isOrder && strings.HasPrefix(text, "!sleep ") {
		_, _, err := obey(ctx, text)
		return err
	}
	return nil
}

func (p *provider) answer(ctx context.Context, request *pb.ChatRequest) (*pb.ChatResponse, error) {
	text, isOrder := question(request)
	if isOrder && strings.HasPrefix(text, "!tool ") {
		return toolCall(text), nil
	}
	said := p.sessions.Of(ctx, defaults).prefix + text
	if isOrder && !strings.HasPrefix(text, "!sleep ") {
		ordered, isAnswer, err := obey(ctx, text)
		if err != nil {
			return nil, err
		}
		if isAnswer {
			said = ordered
		}
	}
	return finished(textBlocks(said), nil, "stop", words(request), len(strings.Fields(said))), nil
}

// toolCall answers `!tool NAME JSON` as a model does that wants to call a tool.
func toolCall(order string) *pb.ChatResponse {
	name, arguments, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(order, "!tool ")), " ")
	if arguments == "" {
		arguments = "{}"
	}
	block := &pb.ToolCallBlock{Id: "call-1", Name: name, InputJson: arguments}
	blocks := []*pb.ContentBlock{{Block: &pb.ContentBlock_ToolCallBlock{ToolCallBlock: block}}}
	calls := []*pb.ToolCallMessage{{Id: "call-1", Name: name, ArgumentsJson: arguments}}
	return finished(blocks, calls, "tool_calls", len(strings.Fields(order)), 1)
}

func finished(
	blocks []*pb.ContentBlock, calls []*pb.ToolCallMessage, reason string, in, out int,
) *pb.ChatResponse {
	usage := &pb.Usage{
		PromptTokens: int32(in), CompletionTokens: int32(out), TotalTokens: int32(in + out),
	}
	return &pb.ChatResponse{
		ContentBlocks: blocks, ToolCalls: calls, FinishReason: reason, Usage: usage,
	}
}

// question is the text of the last message, and whether it may give orders: what a tool
// answered may not.
func question(request *pb.ChatRequest) (text string, mayOrder bool) {
	if len(request.Messages) == 0 {
		return "", false
	}
	last := request.Messages[len(request.Messages)-1]
	return messageText(last), last.Role != pb.Role_ROLE_TOOL
}

func messageText(message *pb.Message) string {
	if blocks := message.GetBlockContent(); blocks != nil {
		return textOf(blocks.Blocks)
	}
	return message.GetTextContent()
}

func words(request *pb.ChatRequest) int {
	count := 0
	for _, message := range request.Messages {
		count += len(strings.Fields(messageText(message)))
	}
	return count
}

func textOf(blocks []*pb.ContentBlock) string {
	var text strings.Builder
	for _, block := range blocks {
		text.WriteString(block.GetTextBlock().GetText())
	}
	return text.String()
}

func textBlocks(text string) []*pb.ContentBlock {
	return []*pb.ContentBlock{
		{Block: &pb.ContentBlock_TextBlock{TextBlock: &pb.TextBlock{Text: text}}},
	}
}

func toJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // Only plain data comes here.
	}
	return string(text)
}
