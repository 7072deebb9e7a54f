package kit

import (
	"context"
	"errors"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	pb "amplifier.local/kit/contract"
)

// Kernel is the session that is being served: its tools, providers, hooks and messages.
type Kernel struct {
	pb.KernelServiceClient
	connection *grpc.ClientConn
}

// KernelOf reaches the session whose call is in ctx. Use the returned context to call it:
// it carries the session's secret, and ends when the host's call does. Close it after use.
func KernelOf(ctx context.Context) (*Kernel, context.Context, error) {
	endpoint, token := told(ctx, "x-amplifier-kernel-endpoint"), told(ctx, "x-amplifier-kernel-token")
	if endpoint == "" {
		endpoint, token = os.Getenv("AMPLIFIER_KERNEL_ENDPOINT"), os.Getenv("AMPLIFIER_AUTH_TOKEN")
	}
	if endpoint == "" {
		return nil, nil, errors.New("the host does not let this module call back; remove `kernel = false`")
	}
	connection, err := grpc.NewClient(
		endpoint,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(largestMessage)),
	)
	if err != nil {
		return nil, nil, err
	}
	kernel := &Kernel{pb.NewKernelServiceClient(connection), connection}
	return kernel, metadata.AppendToOutgoingContext(ctx, tokenKey, token), nil
}

// Close hangs up.
func (k *Kernel) Close() { _ = k.connection.Close() }

func told(ctx context.Context, key string) string {
	for _, value := range metadata.ValueFromIncomingContext(ctx, key) {
		return value
	}
	return ""
}
