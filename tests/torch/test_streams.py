"""Streams, events, CUDA graphs, and data that come to the GPU in the background."""

import torch
import torch.nn.functional as F
from common import both, close, softmax


def test_a_side_stream_and_its_memory():
    side = torch.cuda.Stream()
    x = torch.arange(1000.0, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = softmax(x.reshape(10, 100)) + 1
        z = y * 2
    torch.cuda.current_stream().wait_stream(side)
    y.record_stream(torch.cuda.current_stream())
    close(z - y, softmax(x.reshape(10, 100)).cpu() + 1)


def test_events():
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    x = torch.ones(300, 300, device="cuda")
    begin.record()
    for _ in range(3):
        x = x @ x / 300
    end.record()
    end.synchronize()
    assert begin.query() and end.query() and begin.elapsed_time(end) >= 0
    close(x, torch.ones(300, 300))


def test_streams_wait_for_events():
    side, done = torch.cuda.Stream(), torch.cuda.Event()
    x = torch.zeros(1000, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(5):
            x.add_(1)
        done.record()
    done.wait()
    close(x * 2, torch.full((1000,), 10.0))


def test_two_streams_pass_data_to_and_fro():
    streams = torch.cuda.Stream(), torch.cuda.Stream(priority=-1)
    x = torch.zeros(64, device="cuda")
    for stream in streams:
        stream.wait_stream(torch.cuda.current_stream())
    for turn in range(6):
        with torch.cuda.stream(streams[turn % 2]):
            x.mul_(2).add_(turn)
        streams[(turn + 1) % 2].wait_stream(streams[turn % 2])
    torch.cuda.current_stream().wait_stream(streams[0])
    wanted = 0
    for turn in range(6):
        wanted = wanted * 2 + turn
    close(x, torch.full((64,), float(wanted)))


def test_copies_beside_computation():
    pinned = [torch.full((1000,), float(i)).pin_memory() for i in range(4)]
    copies, arrived, total = torch.cuda.Stream(), [torch.cuda.Event() for _ in pinned], torch.zeros(1000, device="cuda")
    batches = []
    with torch.cuda.stream(copies):
        for host, event in zip(pinned, arrived):
            batches.append(host.to("cuda", non_blocking=True))
            event.record()
    for batch, event in zip(batches, arrived):
        event.wait()
        batch.record_stream(torch.cuda.current_stream())
        total += batch
    back = torch.empty(1000, pin_memory=True)
    back.copy_(total, non_blocking=True)
    torch.cuda.current_stream().synchronize()
    close(back, torch.full((1000,), 6.0))


class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 23

    def __getitem__(self, i):
        return {"x": torch.full((3,), float(i)), "y": i * i}


def test_a_loader_with_workers_and_pinned_memory():
    loader = torch.utils.data.DataLoader(Squares(), batch_size=5, num_workers=2, pin_memory=True, persistent_workers=True)
    total = torch.zeros((), device="cuda")
    for _ in range(2):
        for batch in loader:
            assert batch["x"].is_pinned() and batch["y"].is_pinned()
            total += (batch["x"].to("cuda", non_blocking=True).sum(1) + batch["y"].to("cuda", non_blocking=True)).sum()
    assert total.item() == 2 * (3 * 22 * 23 / 2 + 22 * 23 * 45 / 6)


# --- CUDA graphs.


def test_a_graph_of_kernels_and_operators_with_new_inputs():
    x, weight = torch.zeros(4, 16, device="cuda"), torch.linspace(-1, 1, 256, device="cuda").reshape(16, 16)

    def f(x):
        return F.layer_norm(softmax(x @ weight).cumsum(1), (16,)).topk(3).values

    f(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = f(x)
    for seed in range(3):
        new = torch.randn(4, 16, generator=torch.Generator().manual_seed(seed))
        x.copy_(new)
        graph.replay()
        wanted = F.layer_norm(torch.softmax(new @ weight.cpu(), 1).cumsum(1), (16,)).topk(3).values
        close(y, wanted, rtol=1e-4, atol=1e-4)


def test_graphed_callables():
    host, device = both(torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4)))
    graphed = torch.cuda.make_graphed_callables(device, (torch.randn(5, 8, device="cuda", requires_grad=True),))
    for seed in range(2):
        x = torch.randn(5, 8, generator=torch.Generator().manual_seed(seed))
        inputs = x.cuda().requires_grad_(), x.requires_grad_()
        outs = [module(leaf) for module, leaf in zip((graphed, host), inputs)]
        for out, module in zip(outs, (device, host)):
            module.zero_grad(set_to_none=True)
            out.pow(2).sum().backward()
        close(outs[0], outs[1])
        close(inputs[0].grad, inputs[1].grad)
        for got, wanted in zip(device.parameters(), host.parameters()):
            close(got.grad, wanted.grad)


def test_a_graph_of_two_streams():
    x = torch.ones(100, device="cuda")
    graph, side = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.graph(graph):
        begun = torch.cuda.current_stream().record_event()
        a = x * 2
        with torch.cuda.stream(side):
            side.wait_event(begun)
            b = x * 3
        torch.cuda.current_stream().wait_stream(side)
        c = a + b
    for value in (1.0, 4.0):
        x.fill_(value)
        graph.replay()
        close(c, torch.full((100,), 5 * value))


def test_graphs_that_share_a_pool():
    x = torch.ones(8, device="cuda")
    first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(first):
        y = x + 1
    with torch.cuda.graph(second, pool=first.pool()):
        z = y * y
    x.fill_(5)
    first.replay()
    second.replay()
    close(z, torch.full((8,), 36.0))


def test_a_graph_draws_new_numbers_each_time():
    """As the same draws do without a graph."""
    torch.cuda.manual_seed(7)
    state = torch.cuda.get_rng_state()

    def draw():
        return torch.randn(1000, device="cuda"), F.dropout(torch.ones(1000, device="cuda"), 0.3), torch.randperm(500, device="cuda")

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = draw()
    torch.cuda.set_rng_state(state)
    replayed = []
    for _ in range(2):
        graph.replay()
        replayed.append([tensor.clone() for tensor in captured])
    torch.cuda.set_rng_state(state)
    for turn in replayed:
        for got, wanted in zip(turn, draw()):
            assert torch.equal(got, wanted)
    assert not torch.equal(replayed[0][0], replayed[1][0])
