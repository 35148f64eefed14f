"""Train and evaluate with the Trainer of Hugging Face's transformers."""

import tempfile
import time

import torch
from transformers import Trainer, TrainingArguments

torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(5, 1)

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        time.sleep(0.02)
        logits = self.layer(x)[:, 0]
        return {"loss": torch.nn.functional.mse_loss(logits, labels), "logits": logits}


X = torch.randn(64, 5)
data = [{"x": x, "labels": x[0]} for x in X]
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        folder,
        num_train_epochs=2,
        per_device_train_batch_size=8,
        logging_steps=4,
        eval_strategy="epoch",
        save_strategy="no",
        report_to=[],
        use_cpu=True,
    )
    Trainer(Net(), arguments, train_dataset=data, eval_dataset=data).train()
