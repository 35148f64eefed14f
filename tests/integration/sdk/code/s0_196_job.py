from jupyter_pai.sdk.estimator import Estimator
from jupyter_pai.sdk.image import retrieve

# 获取PAI支持的最新 PyTorch 镜像
torch_image_uri = retrieve("PyTorch", accelerator_type="GPU").image_uri

est = Estimator(
    # 训练作业的启动命令
    command="python train.py",
    # 训练作业脚本， 可以是一个本地目录相对路径或是绝对路径，或是 OSS 上的tar包（例如 oss://<YourOssBucket>/your-code-path-to/source.tar.gz）
    # 当目录中有 requirements.txt 文件时，对应的依赖会被自动安装，然后再启动用户的训练脚本。
    source_dir="./train_src/",
    # 训练作业使用的镜像
    image_uri=torch_image_uri,
    # 训练作业使用的机器类型， 支持的机器类型见文档 https://help.aliyun.com/document_detail/171758.html#section-55y-4tq-84y
    instance_type="ecs.c6.xlarge",
    # 训练作业的超参
    hyperparameters={
        "n_estimators": 500,
        "objective": "reg:squarederror",
        "max_depth": 5,
    },
    # 训练作业名称前缀，用户提交的训练作业使用的Name为 `{base_job_name}_{submitted-datetime}`
    base_job_name="example_train_job",
)

# 提交训练作业，同时打印训练作业的Web详情页URL。fit 调用默认等待到作业终止（成功，失败，会是被停止）。
est.fit()

# 输出的模型路径
est.model_data()
print(est.latest_job.name, est.latest_job.info["notes"])
