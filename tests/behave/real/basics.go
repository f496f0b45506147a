// SPDX-License-Identifier: Apache-2.0

// Go's basics, with cgo: goroutines that are preempted, signals, processes, sockets, files, calls into C and back.
package main

/*
#include <stdint.h>
#include <unistd.h>
static uint64_t spin(uint64_t rounds)
{
	uint64_t value = 1;
	for (uint64_t i = 0; i < rounds; i++)
		value = value * 6364136223846793005u + 1;
	return value;
}
static int nap(void) { return usleep(2000); }
extern int goDouble(int);
static int callBack(int value) { return goDouble(value); }
*/
import "C"

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

//export goDouble
func goDouble(value C.int) C.int { return value * 2 }

func goroutines() {
	var group sync.WaitGroup
	var sum atomic.Int64
	for i := 0; i < 2000; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			x := uint64(i)
			for j := 0; j < 20000; j++ {
				x = x*6364136223846793005 + 1
			}
			sum.Add(int64(x % 1000))
			runtime.Gosched()
		}()
	}
	group.Wait()
	fmt.Println("goroutines:", sum.Load())
	// no call within the loop: only a signal makes room for the other
	runtime.GOMAXPROCS(1)
	var stop atomic.Bool
	go func() { time.Sleep(10 * time.Millisecond); stop.Store(true) }()
	for !stop.Load() {
	}
	runtime.GOMAXPROCS(2)
	fmt.Println("preempted")
}

func garbage() {
	var kept [64][]byte
	total := 0
	for i := 0; i < 300000; i++ {
		kept[i%64] = make([]byte, 512+i%512)
		total += len(kept[i%64])
	}
	runtime.GC()
	debug.FreeOSMemory()
	fmt.Println("garbage:", total)
}

func faults() {
	nils, divisions := 0, 0
	var nobody *[100]int
	zero := len(os.Args) - len(os.Args)
	for i := 0; i < 2000; i++ {
		func() {
			defer func() { recover(); nils++ }()
			nobody[i%100]++
		}()
		func() {
			defer func() { recover(); divisions++ }()
			fmt.Println(i / zero)
		}()
	}
	fmt.Println("faults:", nils, divisions)
}

func signals() {
	for _, number := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGURG, syscall.SIGWINCH, syscall.SIGTERM, 40, 64} {
		came := make(chan os.Signal, 100)
		signal.Notify(came, number)
		lost := 0
		for i := 0; i < 10; i++ {
			syscall.Kill(os.Getpid(), number)
			select {
			case <-came:
			case <-time.After(3 * time.Second):
				lost++
			}
		}
		signal.Stop(came)
		fmt.Println("signal", int(number), "lost", lost)
	}
}

func processes() {
	input := bytes.Repeat([]byte("0123456789"), 300000)
	command := exec.Command("cat")
	command.Stdin = bytes.NewReader(input)
	output, err := command.Output()
	fmt.Println("cat:", bytes.Equal(input, output), err)
	fmt.Println("exit:", exec.Command("sh", "-c", "exit 7").Run())
	limited, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	fmt.Println("killed:", exec.CommandContext(limited, "sleep", "60").Run())
}

func sockets() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) }))
	data := bytes.Repeat([]byte("abcdefgh"), 1<<18)
	answer, err := http.Post("http://"+listener.Addr().String(), "text/plain", bytes.NewReader(data))
	if err != nil {
		panic(err)
	}
	body, err := io.ReadAll(answer.Body)
	fmt.Println("http:", sha256.Sum256(body) == sha256.Sum256(data), err)
	connection, _ := net.Dial("tcp", listener.Addr().String())
	timeouts := 0
	for i := 0; i < 50; i++ {
		connection.SetReadDeadline(time.Now().Add(2 * time.Millisecond))
		if _, err := connection.Read(make([]byte, 1)); os.IsTimeout(err) {
			timeouts++
		}
	}
	fmt.Println("timeouts:", timeouts)
	listener.Close()
}

func calls() {
	var group sync.WaitGroup
	var sum atomic.Uint64
	for i := 0; i < 16; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for j := 0; j < 10; j++ {
				sum.Add(uint64(C.spin(300000)) % 1000)
				C.nap() // Go's own preemption may cut it
				sum.Add(uint64(C.callBack(C.int(j))))
			}
		}()
	}
	group.Wait()
	fmt.Println("cgo:", sum.Load())
}

func main() {
	goroutines()
	garbage()
	faults()
	signals()
	processes()
	sockets()
	calls()
	os.Exit(13)
}
