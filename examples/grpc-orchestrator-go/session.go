package main

// The session that is served, as the loop wants to see it.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"amplifier.local/kit"
	pb "amplifier.local/kit/contract"
)

const (
	// With this beside GetMessages, the answer is what fits the provider of that name.
	forRequestKey = "x-amplifier-for-request"
	// With this beside EmitHook, a question of a hook is put to the user and answered.
	askKey = "x-amplifier-ask"
)

type data map[string]any

type session struct {
	ctx    context.Context
	kernel *kit.Kernel
}

// emit tells the hooks, and has the user asked if one of them wants that.
func (s session) emit(event string, about data) (*pb.HookResult, error) {
	text, err := json.Marshal(about)
	if err != nil {
		return nil, err
	}
	ctx := metadata.AppendToOutgoingContext(s.ctx, askKey, "1")
	result, err := s.kernel.EmitHook(ctx, &pb.EmitHookRequest{Event: event, DataJson: string(text)})
	return result, failed(event+" could not be emitted", err)
}

func (s session) add(message *pb.Message) error {
	_, err := s.kernel.AddMessage(s.ctx, &pb.KernelAddMessageRequest{Message: message})
	return failed("a message could not be stored", err)
}

func (s session) messages(provider string) ([]*pb.Message, error) {
	ctx := metadata.AppendToOutgoingContext(s.ctx, forRequestKey, provider)
	answer, err := s.kernel.GetMessages(ctx, &pb.GetMessagesRequest{})
	return answer.GetMessages(), failed("the conversation could not be read", err)
}

// complete asks a provider; onText, if there is one, hears the answer while it comes.
func (s session) complete(
	provider string, request *pb.ChatRequest, onText func(string) error,
) (*pb.ChatResponse, error) {
	call := &pb.CompleteWithProviderRequest{ProviderName: provider, Request: request}
	why := fmt.Sprintf("provider %q gave no answer", provider)
	if onText == nil {
		answer, err := s.kernel.CompleteWithProvider(s.ctx, call)
		return answer, failed(why, err)
	}
	stream, err := s.kernel.CompleteWithProviderStreaming(s.ctx, call)
	if err != nil {
		return nil, failed(why, err)
	}
	var last *pb.ChatResponse
	for {
		piece, err := stream.Recv()
		if errors.Is(err, io.EOF) && last != nil {
			return last, nil
		}
		if err != nil {
			return nil, failed(why, err)
		}
		if last = piece; piece.FinishReason == "" {
			if err := onText(textOf(piece)); err != nil {
				return nil, err
			}
		}
	}
}

func (s session) execute(tool, input string) (*pb.ToolResult, error) {
	return s.kernel.ExecuteTool(s.ctx, &pb.ExecuteToolRequest{ToolName: tool, InputJson: input})
}

type mounted struct {
	Name string `json:"name"`
}

type toolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// firstProvider is the name under which the first provider is mounted.
func (s session) firstProvider() (string, error) {
	var providers []mounted
	if err := s.capability("amplifier.providers", &providers); err != nil {
		return "", err
	}
	if len(providers) == 0 {
		return "", errors.New("no provider is mounted; add one to the mount plan")
	}
	return providers[0].Name, nil
}

// tools is what a request tells the model that it may call.
func (s session) tools() ([]*pb.ToolSpecProto, error) {
	var specs []toolSpec
	if err := s.capability("amplifier.tools", &specs); err != nil {
		return nil, err
	}
	tools := make([]*pb.ToolSpecProto, len(specs))
	for index, spec := range specs {
		tools[index] = &pb.ToolSpecProto{
			Name: spec.Name, Description: spec.Description, ParametersJson: string(spec.Parameters),
		}
	}
	return tools, nil
}

func (s session) capability(name string, into any) error {
	answer, err := s.kernel.GetCapability(s.ctx, &pb.GetCapabilityRequest{Name: name})
	if err != nil {
		return failed("the session does not answer", err)
	}
	if !answer.Found {
		return nil
	}
	return json.Unmarshal([]byte(answer.ValueJson), into)
}

// failed says in a sentence what could not be done.
func failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s", what, status.Convert(err).Message())
}
