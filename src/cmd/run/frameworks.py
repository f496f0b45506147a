# SPDX-License-Identifier: Apache-2.0
"""
What `sonde run --graph` starts in each Python of the measured program, as its sitecustomize: where the program
imports JAX or TensorFlow, their own profiler runs for a while, and what it writes goes into the measurement's
folder, XLA-PID/FRAMEWORK/HOST.xplane.pb. `sonde analyze` makes graphs of it.

Nothing here may change what the program does: whatever fails is dropped, a profiler that the program starts
itself gets the place of ours, and the sitecustomize that there would have been without us runs as well.
"""
import atexit
import os
import sys

FOLDER = os.environ.get("SONDE_FRAMEWORKS", "")
SECONDS = float(os.environ.get("SONDE_GRAPH_SECONDS") or 60)
DUMP = "--xla_dump_to="


def own_folder():
    return os.path.join(FOLDER, "xla-%d" % os.getpid())


def quietly(function):
    def run(*arguments, **keywords):
        try:
            return function(*arguments, **keywords)
        except Exception:  # the program comes first
            return None
    return run


class Session:
    """One framework's profiler: started once, ended by time, by the program's own, or at exit."""

    def __init__(self, start, stop):
        self.start_it, self.stop_it = start, stop
        import threading
        self.threading, self.lock = threading, threading.RLock()
        self.state = "new"
        self.pid = os.getpid()

    @quietly
    def start(self):
        with self.lock:
            if self.state != "new":
                return
            self.state = "over"  # where starting fails it is not tried again
            self.start_it()
            self.state = "running"
        atexit.register(self.stop)
        timer = self.threading.Timer(SECONDS, self.stop)
        timer.daemon = True
        timer.start()

    @quietly
    def stop(self):
        with self.lock:
            if self.state == "running" and os.getpid() == self.pid:
                self.state = "over"
                self.stop_it()

    def yield_to(self, module, name):
        """Before the program's own call of module.name ours ends."""
        original = getattr(module, name, None)
        if original is None:
            return

        def wrapped(*arguments, **keywords):
            self.stop()
            self.state = "over"
            return original(*arguments, **keywords)
        wrapped.__wrapped__ = original
        wrapped.__name__, wrapped.__doc__ = name, original.__doc__
        setattr(module, name, wrapped)


# ---- JAX ----

@quietly
def before_jax():
    """Programs as they are before XLA's passes; flags of the user's own stay, and win where they dump."""
    flags = [flag for flag in os.environ.get("XLA_FLAGS", "").split() if not flag.startswith(DUMP + FOLDER)]
    if not any(flag.startswith(DUMP) for flag in flags):
        flags += [DUMP + os.path.join(own_folder(), "jax", "dump"), "--xla_dump_hlo_as_proto"]
    os.environ["XLA_FLAGS"] = " ".join(flags)


def keep_programs(folder):
    """Of what XLA dumped only programs before its passes."""
    import shutil
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        path = os.path.join(folder, name)
        if os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)
        elif not name.endswith(".before_optimizations.hlo.pb"):
            os.unlink(path)


@quietly
def after_jax(jax):
    folder = os.path.join(own_folder(), "jax")
    profiler = jax.profiler
    original = profiler.start_trace
    originally = profiler.stop_trace

    def start():
        os.makedirs(folder, exist_ok=True)
        try:
            options = profiler.ProfileOptions()
            options.python_tracer_level = 0
            options.host_tracer_level = 2
        except AttributeError:  # older ones record Python's calls as well
            original(folder)
        else:
            original(folder, profiler_options=options)

    def stop():
        originally()
        keep_programs(os.path.join(folder, "dump"))

    session = Session(start, stop)
    own = sys.modules.get("jax._src.profiler")
    for module in (profiler, own):
        if module is not None:
            session.yield_to(module, "start_trace")
    # the first thing that JAX traces: by then the program has configured it
    jax.monitoring.register_event_duration_secs_listener(lambda *_, **__: session.start())


# ---- TensorFlow ----

def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode("utf-8", "replace") if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def source_of(operation, inside):
    """The innermost line outside of TensorFlow that made an operation."""
    for frame in reversed(operation.traceback or []):
        if not any(part in frame.filename for part in inside):
            return field(3, frame.filename) + field(4, frame.lineno)
    return b""


def describe_graph(graph, function):
    """A function's graph in the form in which XLA describes programs (HloModuleProto), and what the executor calls it."""
    inside = [os.sep + name + os.sep for name in ("tensorflow", "keras", "tf_keras")]
    operations = graph.get_operations()
    numbers = {operation.name: number for number, operation in enumerate(operations, 1)}
    body = field(1, graph.name)
    for operation in operations:
        inputs = [numbers[tensor.op.name] for tensor in operation.inputs if tensor.op.name in numbers]
        body += field(2, field(1, operation.name) + field(2, operation.type) +
                      field(7, source_of(operation, inside)) + field(35, numbers[operation.name]) +
                      (field(28, operation.device) if operation.device else b"") +
                      (field(36, b"".join(map(varint, inputs))) if inputs else b""))
    return field(1, graph.name) + field(2, function) + field(3, body + field(5, 1)) + field(6, 1)


def functions_of(things):
    """By the id of a graph what its functions are called when they run; how Python keeps them changed in 2.13."""
    names = {}
    for thing in things:
        if type(thing).__name__ in ("AtomicFunction", "_EagerDefinedFunction"):
            name = getattr(thing, "name", b"")
            name = name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
            names.setdefault(id(getattr(thing, "graph", None)), set()).add(name)
    return names


@quietly
def keep_graphs(folder):
    """The graphs of the functions that TensorFlow has traced so far."""
    import gc
    kind = sys.modules["tensorflow.python.framework.func_graph"].FuncGraph
    things = gc.get_objects()
    names = functions_of(things)
    graphs = [(thing, name) for thing in things if type(thing) is kind for name in sorted(names.get(id(thing), [""]))]
    os.makedirs(folder, exist_ok=True)
    for number, (graph, name) in enumerate(graphs):
        with open(os.path.join(folder, "%06d.hlo.pb" % number), "wb") as file:
            file.write(describe_graph(graph, name))


def allocator_statistics(tensorflow):
    """
    Functions that make TensorFlow's allocator on CPUs tell its profiler what it allocates, and end that; oneDNN's does so
    always. Both are C++ functions without arguments or result, in a library that is loaded. None where they are not there.
    """
    import ctypes
    path = os.path.join(os.path.dirname(tensorflow.__file__), "libtensorflow_framework.so.2")
    try:
        library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
        enabled = library._ZN3tsl24CPUAllocatorStatsEnabledEv
        enabled.restype = ctypes.c_bool
        begin, end = library._ZN3tsl23EnableCPUAllocatorStatsEv, library._ZN3tsl24DisableCPUAllocatorStatsEv
        begin.restype = end.restype = None
        return None if enabled() else (begin, end)
    except (OSError, AttributeError):
        return None


@quietly
def after_tensorflow(tensorflow):
    folder = os.path.join(own_folder(), "tensorflow")
    profiler = tensorflow.profiler.experimental
    original, originally = profiler.start, profiler.stop
    statistics = []

    def start():
        os.makedirs(folder, exist_ok=True)
        statistics[:] = allocator_statistics(tensorflow) or ()
        for begin in statistics[:1]:
            begin()
        original(folder, options=profiler.ProfilerOptions(host_tracer_level=2, python_tracer_level=0,
                                                          device_tracer_level=1))

    def stop():
        originally()
        for end in statistics[1:]:
            end()
        keep_graphs(os.path.join(folder, "graphs"))

    session = Session(start, stop)
    own = sys.modules.get("tensorflow.python.profiler.profiler_v2")
    for module in (profiler, own):
        if module is not None:
            session.yield_to(module, "start")
    session.start()


# ---- noticing imports ----

WATCHED = {"jax": (before_jax, after_jax), "tensorflow": (lambda: None, after_tensorflow)}


class Watch:
    """A finder that finds nothing itself: it has the others find, and is told when the module is loaded."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in WATCHED:
            return None
        before, after = WATCHED.pop(name)
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find and finder is not Watch else None
            if spec is None:
                continue
            load = getattr(spec.loader, "exec_module", None)
            if load is None:
                return spec

            def execute(module):
                before()
                load(module)
                after(module)
            try:
                spec.loader.exec_module = execute
            except AttributeError:
                pass
            return spec
        return None


def run_other_sitecustomize():
    import importlib.machinery
    import importlib.util
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    sys.path_importer_cache.pop(here, None)
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize")
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if FOLDER and os.path.isdir(FOLDER):
    sys.meta_path.insert(0, Watch)
run_other_sitecustomize()
