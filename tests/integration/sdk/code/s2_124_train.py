import os
import torch
import torch.nn as nn

class ToyModel(nn.Module):
    def __init__(self):
        super(ToyModel, self).__init__()

        self.net1 = nn.Linear(10, 10)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


def train(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = model(torch.ones(4, 10)).square().mean()
    loss.backward()
    optimizer.step()


def main():
    model = ToyModel()
    train(model)
    # 模型保存目录
    save_model_dir = "/ml/output/model/"
    # 通过环境变量获取模型保存目录
    # save_model_dir = os.environ.get("PAI_OUTPUT_MODEL")
    # 将模型保存到指定
    torch.save(model.state_dict(), os.path.join(save_model_dir, "model.pth"))


main()
