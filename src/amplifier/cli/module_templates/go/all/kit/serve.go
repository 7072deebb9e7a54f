// Package kit serves a module to its host, and lets it call the host back.
package kit

import (
	"context"
	"crypto/subtle"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "amplifier.local/kit/contract"
)

const (
	tokenKey       = "x-amplifier-token"
	largestMessage = 16 << 20
	graceToEnd     = 300 * time.Millisecond
)

// Config is what the mount plan says to the module: texts as they are, all else as JSON.
type Config map[string]string

// Module is what Serve needs to know.
type Module struct {
	Name, Version string
	// Kind is tool, provider, orchestrator, context, hook or approval.
	Kind string
	// Register adds the service of the module's kind to the server.
	Register func(*grpc.Server)
	// Mount gets the config, before anything else is asked. An error refuses it. May be nil.
	Mount func(context.Context, Config) error
	// Cleanup forgets what the session left behind. May be nil.
	Cleanup func(context.Context)
}

// Serve answers calls until it is told to end; it does not return.
//
// It says READY:<port> when it can be called, or ERROR:<why>. A host that started it ends
// it by SIGTERM, or by being gone, which shows in the end of stdin.
func Serve(module Module) {
	port := flag.Int("port", 0, "port of 127.0.0.1 to listen on; 0 takes a free one")
	flag.Parse()
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		fmt.Printf("ERROR:%s\n", strings.ReplaceAll(err.Error(), "\n", " "))
		os.Exit(1)
	}
	server := newServer(os.Getenv("AMPLIFIER_AUTH_TOKEN"))
	module.Register(server)
	pb.RegisterModuleLifecycleServer(server, &lifecycle{module: module})
	go endWhenTold(server)
	fmt.Printf("READY:%d\n", listener.Addr().(*net.TCPAddr).Port)
	if err := server.Serve(listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func newServer(token string) *grpc.Server {
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(largestMessage),
		grpc.MaxSendMsgSize(largestMessage),
	}
	if token != "" {
		check := tokenCheck(token)
		options = append(options, grpc.UnaryInterceptor(check.unary), grpc.StreamInterceptor(check.stream))
	}
	return grpc.NewServer(options...)
}

func endWhenTold(server *grpc.Server) {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM, syscall.SIGINT)
	if info, err := os.Stdin.Stat(); err == nil && info.Mode()&os.ModeCharDevice == 0 {
		// A host holds the other end while it lives; a terminal or /dev/null is nobody's.
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			told <- syscall.SIGTERM
		}()
	}
	<-told
	time.AfterFunc(graceToEnd, server.Stop)
	server.GracefulStop()
}

// tokenCheck lets nobody in but the host that started this process.
type tokenCheck string

func (token tokenCheck) allows(ctx context.Context) error {
	for _, given := range metadata.ValueFromIncomingContext(ctx, tokenKey) {
		if subtle.ConstantTimeCompare([]byte(given), []byte(token)) == 1 {
			return nil
		}
	}
	return status.Error(codes.Unauthenticated, "missing or invalid "+tokenKey)
}

func (token tokenCheck) unary(
	ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler,
) (any, error) {
	if err := token.allows(ctx); err != nil {
		return nil, err
	}
	return handle(ctx, request)
}

func (token tokenCheck) stream(
	service any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler,
) error {
	if err := token.allows(stream.Context()); err != nil {
		return err
	}
	return handle(service, stream)
}

type lifecycle struct {
	pb.UnimplementedModuleLifecycleServer
	module Module
}

func (l *lifecycle) Mount(ctx context.Context, request *pb.MountRequest) (*pb.MountResponse, error) {
	if l.module.Mount != nil {
		if err := l.module.Mount(ctx, request.Config); err != nil {
			return &pb.MountResponse{Error: err.Error()}, nil
		}
	}
	return &pb.MountResponse{Success: true, Status: pb.HealthStatus_HEALTH_STATUS_SERVING}, nil
}

func (l *lifecycle) Cleanup(ctx context.Context, _ *pb.Empty) (*pb.Empty, error) {
	if l.module.Cleanup != nil {
		l.module.Cleanup(ctx)
	}
	return &pb.Empty{}, nil
}

func (l *lifecycle) HealthCheck(context.Context, *pb.Empty) (*pb.HealthCheckResponse, error) {
	return &pb.HealthCheckResponse{Status: pb.HealthStatus_HEALTH_STATUS_SERVING}, nil
}

func (l *lifecycle) GetModuleInfo(context.Context, *pb.Empty) (*pb.ModuleInfo, error) {
	info := &pb.ModuleInfo{
		Id: l.module.Name, Name: l.module.Name, Version: l.module.Version, MountPoint: l.module.Kind,
	}
	switch l.module.Kind {
	case "tool":
		info.ModuleType = pb.ModuleType_MODULE_TYPE_TOOL
	case "provider":
		info.ModuleType = pb.ModuleType_MODULE_TYPE_PROVIDER
	case "hook":
		info.ModuleType = pb.ModuleType_MODULE_TYPE_HOOK
	case "context":
		info.ModuleType = pb.ModuleType_MODULE_TYPE_MEMORY
	case "approval":
		info.ModuleType = pb.ModuleType_MODULE_TYPE_APPROVAL
	}
	return info, nil
}
