from jupyter_pai.sdk.estimator import Estimator

est = Estimator(
    command="python train.py $PAI_USER_ARGS",
    hyperparameters={
        "epochs": 10,
        "learning-rate": 0.001,
        "batch-size": 32,
    },
    # more arguments for estimator..
    source_dir="argv_src",
)
est.fit()
