import torch
from torch.utils.tensorboard import SummaryWriter
import os

# 训练脚本需要将TensorBoard日志写出到环境变量PAI_OUTPUT_LOGS指定的目录下
writer = SummaryWriter(log_dir=os.environ.get("PAI_OUTPUT_LOGS"))

writer.add_scalar("train/loss", 0.1, 1)
writer.add_image("train/image", torch.rand(3, 64, 64), 1)
writer.flush()
