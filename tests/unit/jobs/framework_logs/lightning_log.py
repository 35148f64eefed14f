"""Train, validate and test with Lightning."""

import warnings

import lightning
import torch
from torch.utils.data import DataLoader, TensorDataset

warnings.simplefilter("ignore")
torch.manual_seed(0)
X = torch.randn(64, 5)
data = TensorDataset(X, (X[:, 0] > 0).float())


class Net(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(5, 1)

    def loss(self, batch: list[torch.Tensor]) -> torch.Tensor:
        x, y = batch
        return torch.nn.functional.binary_cross_entropy_with_logits(self.layer(x)[:, 0], y)

    def training_step(self, batch: list[torch.Tensor]) -> torch.Tensor:
        loss = self.loss(batch)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch: list[torch.Tensor]) -> None:
        self.log("val_loss", self.loss(batch), prog_bar=True)

    def test_step(self, batch: list[torch.Tensor]) -> None:
        self.log("test_loss", self.loss(batch))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


loader = DataLoader(data, batch_size=16)
bar = lightning.pytorch.callbacks.TQDMProgressBar(leave=True)
trainer = lightning.Trainer(
    max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False, callbacks=[bar], log_every_n_steps=1
)
net = Net()
trainer.fit(net, loader, loader)
trainer.validate(net, loader)
trainer.test(net, loader)
