# SPDX-License-Identifier: Apache-2.0
"""
Processes of TensorFlow that send each other tensors of known sizes: `tensorflow_messages.py CASE`.

  collective  two workers that add up FLOATS numbers by gRPC, STEPS times; worker 1 is LATE seconds late with one step
  server      a worker that gets FLOATS numbers from a parameter server in each of STEPS steps

Prints what came out. Started again as `CASE ROLE INDEX` for each task.
"""
import json
import os
import socket
import subprocess
import sys
import time

STEPS, FLOATS, LATE = 6, 65536, 0.5


def collective(index: int) -> None:
    import tensorflow as tf
    strategy = tf.distribute.MultiWorkerMirroredStrategy()

    @tf.function
    def step(x):
        def replica(x):
            return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, x * 1.0)
        return strategy.run(replica, args=(x,))

    total = 0.0
    for number in range(STEPS):
        if index == 1 and number == 3:
            time.sleep(LATE)
        total += float(tf.reduce_sum(step(tf.fill((FLOATS,), float(index + 1)))))
    print("worker %d: %.1f" % (index, total))


def server(role: str, index: int) -> None:
    import tensorflow as tf
    cluster = json.loads(os.environ["TF_CONFIG"])["cluster"]
    started = tf.distribute.Server(tf.train.ClusterSpec(cluster), job_name=role, task_index=index)
    if role == "ps":
        sys.stdin.read()  # until the worker's end
        return
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            given = tf.compat.v1.placeholder(tf.float32, ())
            made = tf.fill((FLOATS,), given)
        with tf.device("/job:worker/task:0"):
            total = tf.reduce_sum(made)
        with tf.compat.v1.Session(started.target) as session:
            print("worker: %.1f" % sum(session.run(total, {given: float(number)}) for number in range(STEPS)))


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def start(case: str, role: str, index: int, cluster: dict) -> subprocess.Popen:
    config = json.dumps({"cluster": cluster, "task": {"type": role, "index": index}})
    return subprocess.Popen([sys.executable, __file__, case, role, str(index)], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True, env={**os.environ, "TF_CONFIG": config})


def main() -> None:
    case = sys.argv[1]
    if len(sys.argv) > 2:
        collective(int(sys.argv[3])) if case == "collective" else server(sys.argv[2], int(sys.argv[3]))
        return
    roles = ["worker", "worker"] if case == "collective" else ["worker", "ps"]
    cluster: dict[str, list[str]] = {}
    tasks = []
    for role in roles:
        cluster.setdefault(role, []).append("127.0.0.1:%d" % free_port())
        tasks.append((role, len(cluster[role]) - 1))
    started = [start(case, role, index, cluster) for role, index in tasks]
    outputs = [started[0].communicate()[0]] + [each.communicate()[0] for each in started[1:]]
    print("".join(outputs), end="")
    sys.exit(max(each.returncode for each in started))


main()
