package main

// Orders make the example misbehave when it is told to, so that tests can see what then
// happens to a session. A module of your own has no need of them.

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var cancelled atomic.Int64

// obey carries out the order in text, if there is one. The answer is what to say instead
// of the usual; the error is what the call ends with.
func obey(ctx context.Context, text string) (answer string, ordered bool, err error) {
	order, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	switch order {
	case "!fail":
		return "", true, status.Error(codes.InvalidArgument, rest)
	case "!crash":
		os.Exit(3)
	case "!cancelled":
		return strconv.FormatInt(cancelled.Load(), 10), true, nil
	case "!large":
		count, err := strconv.Atoi(rest)
		if err != nil || count < 0 {
			return "", true, status.Error(codes.InvalidArgument, fmt.Sprintf("%q is no number", rest))
		}
		return strings.Repeat("x", count), true, nil
	case "!sleep":
		return "", false, sleep(ctx, rest)
	}
	return "", false, nil
}

func sleep(ctx context.Context, seconds string) error {
	wait, err := strconv.ParseFloat(seconds, 64)
	if err != nil {
		return status.Error(codes.InvalidArgument, fmt.Sprintf("%q is no number", seconds))
	}
	select {
	case <-time.After(time.Duration(wait * float64(time.Second))):
		return nil
	case <-ctx.Done():
		cancelled.Add(1)
		return status.FromContextError(ctx.Err()).Err()
	}
}
