// SPDX-License-Identifier: Apache-2.0
// The JDK's basics: threads, collections of garbage, sockets, processes, signals, exceptions that are made of SIGSEGV and SIGFPE
// and of the stack's end. Prints what came of each.
import java.io.*;
import java.net.*;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.*;

public class Basics {
	static volatile Object sink;
	int field;

	static void say(String what, Object... values) {
		System.out.println(what + ": " + Arrays.toString(values));
	}

	static void exceptions() {
		int nulls = 0, divisions = 0, bounds = 0, overflows = 0;
		Basics nobody = null;
		int[] one = new int[1];
		int zero = sink == null ? 0 : 1;
		for (int i = 0; i < 200_000; i++) {
			try {
				nobody.field++;
			} catch (NullPointerException e) {
				nulls++;
			}
			try {
				divisions += i / zero;
			} catch (ArithmeticException e) {
				divisions++;
			}
			try {
				one[i + 1]++;
			} catch (ArrayIndexOutOfBoundsException e) {
				bounds++;
			}
		}
		for (int i = 0; i < 20; i++)
			try {
				recurse(0);
			} catch (StackOverflowError e) {
				overflows++;
			}
		say("exceptions", nulls, divisions, bounds, overflows);
	}

	static int recurse(int depth) {
		return recurse(depth + 1) + depth;
	}

	static void garbage() throws Exception {
		ExecutorService pool = Executors.newFixedThreadPool(8);
		List<Future<Long>> sums = new ArrayList<>();
		for (int t = 0; t < 16; t++) {
			int seed = t;
			sums.add(pool.submit(() -> {
				Map<Integer, byte[]> map = new HashMap<>();
				long sum = 0;
				for (int i = 0; i < 60_000; i++) {
					byte[] old = map.put((i * 31 + seed) % 1000, new byte[1000 + i % 100]);
					sum += old == null ? 1 : old.length;
				}
				return sum;
			}));
		}
		long total = 0;
		for (Future<Long> sum : sums)
			total += sum.get();
		pool.shutdown();
		System.gc();
		say("garbage", total);
	}

	static void threads() throws Exception {
		AtomicInteger count = new AtomicInteger();
		List<Thread> all = new ArrayList<>();
		for (int i = 0; i < 200; i++) {
			Thread thread = new Thread(() -> {
				for (int j = 0; j < 20; j++) {
					synchronized (Basics.class) {
						count.incrementAndGet();
					}
					LockSupport.parkNanos(50_000);
				}
			});
			thread.start();
			all.add(thread);
		}
		for (Thread thread : all)
			thread.join();
		Thread sleeper = new Thread(() -> {
			try {
				Thread.sleep(60_000);
			} catch (InterruptedException e) {
				count.addAndGet(1_000_000);
			}
		});
		sleeper.start();
		Thread.sleep(20);
		sleeper.interrupt();
		sleeper.join();
		say("threads", count.get(), Thread.getAllStackTraces().size() > 0);
		say("parallel", IntStream.range(0, 2_000_000).parallel().mapToLong(i -> i % 7).sum());
	}

	static void sockets() throws Exception {
		try (ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
			Thread echo = new Thread(() -> {
				try (Socket socket = server.accept()) {
					socket.getInputStream().transferTo(socket.getOutputStream());
				} catch (IOException e) {
					say("echo", e);
				}
			});
			echo.start();
			byte[] data = new byte[4 << 20];
			new Random(1).nextBytes(data);
			try (Socket socket = new Socket(server.getInetAddress(), server.getLocalPort())) {
				Thread writer = new Thread(() -> {
					try {
						socket.getOutputStream().write(data);
						socket.shutdownOutput();
					} catch (IOException e) {
						say("writer", e);
					}
				});
				writer.start();
				say("echo", Arrays.equals(data, socket.getInputStream().readAllBytes()));
				writer.join();
			}
			echo.join();
			server.setSoTimeout(10);
			int timeouts = 0;
			for (int i = 0; i < 50; i++)
				try {
					server.accept();
				} catch (SocketTimeoutException e) {
					timeouts++;
				}
			say("timeouts", timeouts);
		}
	}

	static void processes() throws Exception {
		Process cat = new ProcessBuilder("cat").start();
		Thread writer = new Thread(() -> {
			try (OutputStream out = cat.getOutputStream()) {
				out.write(new byte[2_000_000]);
			} catch (IOException e) {
				say("cat", e);
			}
		});
		writer.start();
		say("cat", cat.getInputStream().readAllBytes().length, cat.waitFor());
		say("exit", new ProcessBuilder("sh", "-c", "exit 6").start().waitFor());
		Process sleeper = new ProcessBuilder("sleep", "60").start();
		sleeper.destroy();
		say("destroyed", sleeper.waitFor());
		Path file = Files.createTempFile("behave", "java");
		Files.write(file, new byte[8 << 20]);
		say("file", Files.readAllBytes(file).length, Files.size(file));
		Files.delete(file);
	}

	@SuppressWarnings("removal")
	static void signals() throws Exception {
		Semaphore came = new Semaphore(0);
		for (String name : new String[] {"USR2", "URG", "WINCH", "TERM", "CONT"})
			try {
				sun.misc.Signal signal = new sun.misc.Signal(name);
				sun.misc.Signal.handle(signal, got -> came.release());
				for (int i = 0; i < 10; i++) {
					sun.misc.Signal.raise(signal);
					if (!came.tryAcquire(3, TimeUnit.SECONDS)) {
						say("lost", name);
						break;
					}
				}
				say("signal", name);
			} catch (IllegalArgumentException e) {
				say("signal", name, "is the machine's own");
			}
	}

	public static void main(String[] arguments) throws Exception {
		exceptions();
		garbage();
		threads();
		sockets();
		processes();
		signals();
		Runtime.getRuntime().addShutdownHook(new Thread(() -> say("hook")));
		System.exit(11);
	}
}
