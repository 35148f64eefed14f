# The lesson's script with a model of one number: each node has a part of the data, and they average their gradients.
# With the torch of `s4_torch` or a real one. `validate` is the seed's, unchanged.
import argparse
import os
import pathlib
import time

import torch
import torch.distributed as dist

from jupyter_pai.sdk.tikit.client import Client
client = Client("your_secret_id", "your_secret_key", "<region>")


class AverageMeter:
    def __init__(self, name, fmt):
        self.name, self.sum, self.count, self.avg = name, 0.0, 0, 0.0

    def update(self, value, n=1):
        self.sum, self.count = self.sum + value * n, self.count + n
        self.avg = self.sum / self.count


class ProgressMeter:
    def __init__(self, batches, meters, prefix):
        self.batches, self.meters, self.prefix = batches, meters, prefix

    def display(self, batch):
        print(f"{self.prefix}[{batch}/{self.batches}]", *(f"{meter.name} {meter.avg:.3f}" for meter in self.meters))


class Batch(list):
    """Numbers with the methods of a tensor that `validate` uses."""

    def cuda(self, gpu, non_blocking):
        return self

    def size(self, _axis):
        return len(self)


class Model:
    weight = 0.0

    def eval(self):
        pass

    def __call__(self, images):
        return Batch(self.weight * x for x in images)


def criterion(output, target):
    return torch.tensor(sum((y - z) ** 2 for y, z in zip(output, target)) / len(target))


def accuracy(output, target, topk):
    shares = (sum(abs(y - z) < width for y, z in zip(output, target)) / len(target) for width in (0.1, 1.0))
    return tuple([100.0 * share] for share in shares)


def validate(val_loader, model, criterion, epoch, args):
    batch_time = AverageMeter('Time', ':6.3f')
    losses = AverageMeter('Loss', ':.4e')
    top1 = AverageMeter('Acc@1', ':6.2f')
    top5 = AverageMeter('Acc@5', ':6.2f')
    progress = ProgressMeter(
        len(val_loader),
        [batch_time, losses, top1, top5],
        prefix='Test: ')

    # switch to evaluate mode
    model.eval()

    with torch.no_grad():
        end = time.time()
        for i, (images, target) in enumerate(val_loader):
            if args.gpu is not None:
                images = images.cuda(args.gpu, non_blocking=True)
            target = target.cuda(args.gpu, non_blocking=True)

            # compute output
            output = model(images)
            loss = criterion(output, target)

            # measure accuracy and record loss
            acc1, acc5 = accuracy(output, target, topk=(1, 5))
            losses.update(loss.item(), images.size(0))
            top1.update(acc1[0], images.size(0))
            top5.update(acc5[0], images.size(0))

            # measure elapsed time
            batch_time.update(time.time() - end)
            end = time.time()

            if i % args.print_freq == 0:
                progress.display(i)

        # 上传指标 
        client.push_training_metrics(int(time.time()), {"acc1": float(format(top1.avg, '.3f')), "acc5": float(format(top5.avg, '.3f'))}, epoch=epoch)
        # TODO: this should also be done with the ProgressMeter
        print('TIACC - * Acc@1 {top1.avg:.3f} Acc@5 {top5.avg:.3f} Epoch={epoch}'
              .format(top1=top1, top5=top5, epoch=epoch))

    return top1.avg


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("-a", "--arch")
    parser.add_argument("--batch-size", type=int)
    parser.add_argument("--lr", type=float)
    parser.add_argument("--pretrained", action="store_true")
    parser.add_argument("--local_world_size", type=int)
    parser.add_argument("--local_rank", "--local-rank", type=int)
    args = parser.parse_args()
    args.gpu, args.print_freq = None, 10
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()

    pairs = [line.split(",") for line in (pathlib.Path(args.data) / "train.csv").read_text().split()]
    images, target = (Batch(float(pair[n]) for pair in pairs[rank::size]) for n in (0, 1))
    model = Model()
    for epoch in range(3):
        for _ in range(20):
            output = model(images)
            gradient = torch.tensor(sum(2 * (y - z) * x for x, y, z in zip(images, output, target)) / len(target))
            dist.all_reduce(gradient)
            model.weight -= 100 * args.lr * gradient.item() / size
        validate([(images, target)], model, criterion, epoch, args)
    print(f"rank {rank} of {size}: weight {model.weight:.4f}")
    if rank == 0:
        os.makedirs("/opt/ml/model", exist_ok=True)
        pathlib.Path("/opt/ml/model/model.txt").write_text(f"{model.weight:.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
