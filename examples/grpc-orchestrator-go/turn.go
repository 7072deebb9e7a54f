package main

import (
	"encoding/json"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "amplifier.local/kit/contract"
)

const loopName = "plain-loop"

// turn is one prompt on its way to an answer.
type turn struct {
	session
	settings settings
	provider string
	steps    int
	// What hooks injected. Nothing may be stored between a call and its result, so it waits.
	injected []*pb.ContextInjection
}

func (t *turn) run(prompt string) (string, error) {
	verdict, err := t.emit("prompt:submit", data{"prompt": prompt})
	if err != nil {
		return "", err
	}
	if verdict.Action == pb.HookAction_HOOK_ACTION_DENY {
		return verdict.Reason, nil
	}
	t.keep(verdict)
	if t.provider, err = t.firstProvider(); err != nil {
		return "", err
	}
	if err := t.add(text(pb.Role_ROLE_USER, prompt)); err != nil {
		return "", err
	}
	answer, err := t.converse()
	if err != nil {
		return "", err
	}
	if _, err := t.emit("prompt:complete", data{"prompt": prompt, "response": answer}); err != nil {
		return "", err
	}
	done := data{"orchestrator": loopName, "turn_count": t.steps, "status": "success"}
	_, err = t.emit("orchestrator:complete", done)
	return answer, err
}

// converse asks and runs tools, until there is an answer or enough was tried.
func (t *turn) converse() (string, error) {
	for t.steps = 0; t.steps < t.settings.maxSteps; {
		response, denied, err := t.ask()
		if err != nil || denied != "" {
			return denied, err
		}
		t.steps++
		calls := response.ToolCalls
		if err := t.add(assistant(response)); err != nil || len(calls) == 0 {
			return textOf(response), err
		}
		for _, call := range calls {
			if err := t.call(call); err != nil {
				return "", err
			}
		}
	}
	answer := fmt.Sprintf("Stopped: there was no answer within %d steps.", t.settings.maxSteps)
	return answer, t.add(text(pb.Role_ROLE_ASSISTANT, answer))
}

// ask is one call of the model; hooks may deny it, and then that is the answer.
func (t *turn) ask() (response *pb.ChatResponse, denied string, err error) {
	verdict, err := t.emit("provider:request", data{"provider": t.provider, "iteration": t.steps})
	if err != nil {
		return nil, "", err
	}
	if verdict.Action == pb.HookAction_HOOK_ACTION_DENY {
		return nil, "Operation denied: " + verdict.Reason, nil
	}
	t.keep(verdict)
	passing, err := t.inject()
	if err != nil {
		return nil, "", err
	}
	request := &pb.ChatRequest{}
	if request.Tools, err = t.tools(); err != nil {
		return nil, "", err
	}
	if request.Messages, err = t.messages(t.provider); err != nil {
		return nil, "", err
	}
	request.Messages = append(request.Messages, passing...)
	if response, err = t.complete(t.provider, request, t.onText()); err != nil {
		_, _ = t.emit("provider:error", data{"provider": t.provider, "error": about("ProviderError", err)})
		return nil, "", err
	}
	heard := data{"provider": t.provider, "tool_calls": len(response.ToolCalls) > 0, "usage": usage(response)}
	_, err = t.emit("provider:response", heard)
	return response, "", err
}

// onText passes on what is heard of an answer, if the answer is to be streamed.
func (t *turn) onText() func(string) error {
	if !t.settings.stream {
		return nil
	}
	return func(text string) error {
		_, err := t.emit("provider:stream", data{"provider": t.provider, "chunk": data{"text": text}})
		return err
	}
}

// call runs one tool, unless a hook denies it, and stores what came of it.
func (t *turn) call(call *pb.ToolCallMessage) error {
	input := json.RawMessage(call.ArgumentsJson)
	if !json.Valid(input) {
		input = json.RawMessage("{}")
	}
	event := data{"tool_name": call.Name, "tool_input": input, "tool_call_id": call.Id}
	verdict, err := t.emit("tool:pre", event)
	if err != nil {
		return err
	}
	t.keep(verdict)
	if verdict.Action == pb.HookAction_HOOK_ACTION_DENY {
		return t.add(result(call, "Denied: "+verdict.Reason))
	}
	if wanted := left(verdict, "tool_input"); wanted != nil {
		event["tool_input"], input = wanted, wanted
	}
	done, err := t.execute(call.Name, string(input))
	if code := status.Code(err); code == codes.NotFound || code == codes.Internal {
		// The model can deal with a tool that is missing or broken.
		return t.callFailed(call, event, status.Convert(err).Message())
	}
	if err != nil {
		return failed(fmt.Sprintf("tool %q could not be run", call.Name), err)
	}
	shown := toolResult{done.Success, raw(done.OutputJson), raw(done.ErrorJson)}
	event["result"] = shown
	if verdict, err = t.emit("tool:post", event); err != nil {
		return err
	}
	t.keep(verdict)
	if wanted := left(verdict, "result"); wanted != nil {
		_ = json.Unmarshal(wanted, &shown)
	}
	return t.add(result(call, outcome(shown)))
}

func (t *turn) callFailed(call *pb.ToolCallMessage, event data, why string) error {
	event["error"] = data{"type": "ToolError", "msg": why}
	if _, err := t.emit("tool:error", event); err != nil {
		return err
	}
	return t.add(result(call, fmt.Sprintf("Error executing tool %q: %s.", call.Name, why)))
}

// keep remembers what a hook wants the model to know.
func (t *turn) keep(verdict *pb.HookResult) {
	t.injected = append(t.injected, verdict.ContextInjections...)
	isSingle := len(verdict.ContextInjections) == 0 && verdict.ContextInjection != ""
	if isSingle && verdict.Action == pb.HookAction_HOOK_ACTION_INJECT_CONTEXT {
		t.injected = append(t.injected, &pb.ContextInjection{
			Content: verdict.ContextInjection, Role: verdict.ContextInjectionRole,
			Ephemeral: verdict.Ephemeral,
		})
	}
}

// inject stores what was kept; what is meant for one request only is returned.
func (t *turn) inject() (passing []*pb.Message, err error) {
	for _, each := range t.injected {
		role := pb.Role_ROLE_SYSTEM
		switch each.Role {
		case pb.ContextInjectionRole_CONTEXT_INJECTION_ROLE_USER:
			role = pb.Role_ROLE_USER
		case pb.ContextInjectionRole_CONTEXT_INJECTION_ROLE_ASSISTANT:
			role = pb.Role_ROLE_ASSISTANT
		}
		message := text(role, each.Content)
		if each.Ephemeral {
			passing = append(passing, message)
		} else if err := t.add(message); err != nil {
			return nil, err
		}
	}
	t.injected = nil
	return passing, nil
}
