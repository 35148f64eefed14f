from jupyter_pai.sdk.estimator import Estimator

est = Estimator(
    command="python train.py --epochs $PAI_HPS_EPOCHS --batch-size $PAI_HPS_BATCH_SIZE",
    hyperparameters={
        "epochs": 10,
        "batch-size": 32,
    },
    # more arguments for estimator..
    source_dir="argv_src",
)
est.fit()
