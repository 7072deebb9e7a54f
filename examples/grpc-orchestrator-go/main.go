// An orchestrator in Go: it asks the model, runs the tools that it calls, and asks again.
package main

import (
	"context"
	"fmt"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"amplifier.local/kit"
	pb "amplifier.local/kit/contract"
)

type settings struct {
	prefix   string
	maxSteps int
	stream   bool
}

func defaults() settings { return settings{maxSteps: 10} }

type orchestrator struct {
	pb.UnimplementedOrchestratorServiceServer
	sessions kit.Sessions[settings]
}

func main() {
	loop := &orchestrator{}
	kit.Serve(kit.Module{
		Name: loopName, Version: "1.0.0", Kind: "orchestrator",
		Register: func(server *grpc.Server) { pb.RegisterOrchestratorServiceServer(server, loop) },
		Mount:    loop.mount,
		Cleanup:  loop.sessions.Forget,
	})
}

func (o *orchestrator) mount(ctx context.Context, config kit.Config) error {
	wanted := defaults()
	wanted.prefix, wanted.stream = config["prefix"], config["stream"] == "true"
	if text, isGiven := config["max_steps"]; isGiven {
		steps, err := strconv.Atoi(text)
		if err != nil || steps < 1 {
			return fmt.Errorf("max_steps is %q; give a whole number above 0", text)
		}
		wanted.maxSteps = steps
	}
	o.sessions.Put(ctx, wanted)
	return nil
}

// Execute runs one turn. What goes wrong in it is told in words.
func (o *orchestrator) Execute(
	ctx context.Context, request *pb.OrchestratorExecuteRequest,
) (*pb.OrchestratorExecuteResponse, error) {
	settings := o.sessions.Of(ctx, defaults)
	answer, ordered, err := obey(ctx, request.Prompt)
	if err == nil && !ordered {
		answer, err = runTurn(ctx, settings, request.Prompt)
	}
	if ctx.Err() != nil {
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	if err != nil {
		return &pb.OrchestratorExecuteResponse{Error: status.Convert(err).Message()}, nil
	}
	if !ordered {
		answer = settings.prefix + answer
	}
	return &pb.OrchestratorExecuteResponse{Response: answer}, nil
}

func runTurn(ctx context.Context, settings settings, prompt string) (string, error) {
	kernel, ctx, err := kit.KernelOf(ctx)
	if err != nil {
		return "", err
	}
	defer kernel.Close()
	turn := &turn{session: session{ctx, kernel}, settings: settings}
	return turn.run(prompt)
}
