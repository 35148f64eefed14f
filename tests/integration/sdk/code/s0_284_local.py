from jupyter_pai.sdk.estimator import Estimator

image_uri = "<TrainingImageUri>"
estimator = Estimator(
    image_uri=image_uri,
    entry_point="train.py",
    source_dir="train_src",
    # instance_type="local" 表示运行在本地环境。
    instance_type="local",
)

estimator.fit(
    inputs={
        # local 模式下，OSS上的数据会被下载到本地，然后挂载到工作容器内。
        "train": "oss://<BucketName>/path-to-data/",
        # local 模式下，支持本地文件数据，对应的数据会被挂载到相应的channel目录
        "test": "/data/to/test/data"
    }
)

# 返回一个本地的模型输出目录
print(estimator.model_data())
