# SPDX-License-Identifier: Apache-2.0
"""A PyTorch model whose graph is known: graph_torch.py CASE ITERATIONS.

marked      a training loop that marks its iterations (sonde.iteration)
found       the same without marks
recurrent   its forward pass calls one cell forty times at one line, so that an inner loop repeats, too
scripted    functions of TorchScript, whose interpreter announces its whole stack with each operator
tensors     operators one by one: views, changes in place, lists, tensors that no operator made
"""
import contextlib
import sys

import torch


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = torch.nn.ModuleList([torch.nn.Linear(16, 16), torch.nn.Linear(16, 16)])
        self.act = torch.nn.ReLU()

    def forward(self, x):
        for part in self.parts:
            x = self.act(part(x))  # here: part
        return x


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = Block()
        self.head = torch.nn.Sequential(torch.nn.Linear(16, 4), torch.nn.Tanh())

    def forward(self, x):
        return self.head(self.layer1(x))  # here: head


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.Linear(16, 16)

    def forward(self, x):
        for _ in range(40):
            x = torch.sigmoid(self.cell(x))
        return x


def chain(x, times: int):
    for _ in range(times):
        x = torch.tanh(x) + 0.1 * x
    return torch.sigmoid(x)


class Sometimes(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.ReLU(), torch.nn.ReLU()

    def forward(self, x, has_first):
        return self.second(self.first(x) if has_first else x)


def tensors(count):
    """Each operator but relu has a name that no other has; what leads to which is in the test."""
    x, changed, one, other = torch.randn(4, 4), torch.zeros(4, 4), torch.zeros(4), torch.zeros(4)
    net = Sometimes()
    for turn in range(count):
        with sonde.iteration("step"):
            made = torch.sin(x)
            viewed = made.view(16)
            of_view = torch.cos(viewed)
            torch.exp(made)
            torch.neg(made.data)  # .data is made by no operator: it is known by its memory
            changed.add_(made)
            torch.abs(changed.data)
            torch.ceil(made.data)
            torch.sum(torch.cat([viewed, of_view]))
            torch._foreach_mul_([one, other], 0.5)
            torch.floor(one.data)
            torch.round(other)
            torch.tan(x)
            torch.sign(changed.data)  # maybe where the last one's tensor was
            net(made, turn % 2 == 1)


case, count = sys.argv[1], int(sys.argv[2])
if case in ("marked", "scripted", "tensors"):
    import sonde
if case == "tensors":
    torch.set_num_threads(1)
    with torch.no_grad():
        tensors(count)
    sys.exit()
torch.manual_seed(0)
torch.set_num_threads(1)
if case == "scripted":
    chain = torch.jit.script(chain)
    for turn in range(count):
        with sonde.iteration("step"):
            x = torch.ones(8, requires_grad=True)
            chain(x.sin(), 5).sum().backward()
    with torch.no_grad():
        print(float(chain(x, 0).sum()))
    sys.exit()
net = Recurrent() if case == "recurrent" else Net()
parameters = list(net.parameters())
x = torch.randn(8, 16)
for turn in range(count):
    with sonde.iteration("step") if case == "marked" else contextlib.nullcontext():
        loss = net(x).sum()  # here: sum
        loss.backward()  # here: backward
        with torch.no_grad():
            for parameter in parameters:
                parameter.add_(parameter.grad, alpha=-0.1)  # here: update
                parameter.grad = None
with torch.no_grad():
    print(float(loss))
