// Command broker is a broker for the benchmark, as a separate process. It gives every client all permissions, and keeps everything in
// memory.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"

	"github.com/open-cluster-management-io/work-rollback/test/internal/relay"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	driver := flag.String("driver", "mqtt", "the protocol: mqtt or grpc")
	address := flag.String("listen", "127.0.0.1:1883", "the address to listen on")
	flag.Parse()
	switch *driver {
	case "mqtt":
		return serveMQTT(ctx, *address)
	case "grpc":
		return serveGRPC(ctx, *address)
	}
	return fmt.Errorf("-driver=%s: use mqtt or grpc", *driver)
}

func serveMQTT(ctx context.Context, address string) error {
	server := mochi.New(&mochi.Options{Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if err := server.AddHook(new(auth.AllowHook), nil); err != nil {
		return err
	}
	if err := server.AddListener(listeners.NewTCP(listeners.Config{ID: "tcp", Address: address})); err != nil {
		return err
	}
	if err := server.Serve(); err != nil {
		return err
	}
	<-ctx.Done()
	return server.Close()
}

func serveGRPC(ctx context.Context, address string) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	server := relay.New(nil)
	stop := context.AfterFunc(ctx, server.Stop)
	defer stop()
	if err := server.Serve(listener); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}
