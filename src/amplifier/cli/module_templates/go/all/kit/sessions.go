package kit

import (
	"context"
	"sync"
)

// Sessions keeps something for each session that uses the server; the zero value is ready.
type Sessions[T any] struct {
	kept sync.Map
}

// Put keeps value for the session whose call is in ctx.
func (s *Sessions[T]) Put(ctx context.Context, value T) { s.kept.Store(sessionOf(ctx), value) }

// Forget drops what is kept for the session whose call is in ctx.
func (s *Sessions[T]) Forget(ctx context.Context) { s.kept.Delete(sessionOf(ctx)) }

// Of is what is kept for the session whose call is in ctx, or else what start says.
func (s *Sessions[T]) Of(ctx context.Context, start func() T) T {
	if found, ok := s.kept.Load(sessionOf(ctx)); ok {
		return found.(T)
	}
	value, _ := s.kept.LoadOrStore(sessionOf(ctx), start())
	return value.(T)
}

// sessionOf tells sessions apart; a host that started the server has only one.
func sessionOf(ctx context.Context) string { return told(ctx, "x-amplifier-kernel-token") }
