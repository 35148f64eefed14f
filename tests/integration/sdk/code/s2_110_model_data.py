from jupyter_pai.sdk.estimator import Estimator

estimator = Estimator(
    command="python train.py",
    source_dir="<YourTrainingCodeDir>",
    image_uri="<TrainingImageUri>",
)
estimator.fit()

# 获取输出模型的OSS路径
print(estimator.model_data())
