from jupyter_pai.sdk.estimator import Estimator

estimator = Estimator(
    command="echo $PAI_INPUT_TRAIN $PAI_INPUT_TEST; cat $PAI_INPUT_TRAIN; ls $PAI_INPUT_TEST",
    source_dir="train_src",
)
estimator.fit(
    inputs={
        "train": "oss://<YourOssBucket>/train/data/train.csv",
        "test": "oss://<YourOssBucket>/test/data/",
    }
)
