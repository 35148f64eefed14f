from jupyter_pai.sdk.estimator import Estimator

estimator = Estimator(
    command="echo $PAI_INPUT_TRAIN $PAI_INPUT_TEST; cat $PAI_INPUT_TRAIN; ls $PAI_INPUT_TEST",
    source_dir="train_src",
    instance_type="local",
)
estimator.fit(
    inputs={
        "train": "train/data/train.csv",
        "test": "test/data/",
    }
)
