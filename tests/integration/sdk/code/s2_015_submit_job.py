from jupyter_pai.sdk.estimator import Estimator

est = Estimator(
    command="python train.py",
    # 待上传执行的代码目录
    source_dir="<YourTrainingCodeDir>",
    image_uri="<TrainingImageUri>",
    instance_type="ecs.c6.xlarge",
    # 训练作业超参
    hyperparameters={
        "batch_size": 32,
        "learning_rate": 0.01,
    }
)
est.fit()
