from jupyter_pai.sdk.job import CustomJob

from jupyter_pai.sdk.operator.types import (
    PipelineParameter,
    PipelineArtifact,
    ArtifactMetadataUtils,
)

# 这里我们使用XGBoost的社区镜像运行脚本，相应的镜像中已经预安装了xgboost, pandas等相关的Python库。
image_uri = "registry.{}.aliyuncs.com/pai-dlc/xgboost-training:1.6.0-cpu-py36-ubuntu18.04".format(
    sess.region_id
)
source_code_dir = "code"

job = CustomJob(
    entry_point="xgb_train.py",
    # 训练作业使用的代码文件夹
    source_code=source_code_dir,
    # 训练作业使用镜像
    image_uri=image_uri,
    # 训练作业参数，通过arguments传递给到脚本.
    parameters={
        "n_estimators": 500,
        "objective": "multi:softmax",
        "max_depth": 5,
    },
)


# 用户可以通过LocalRun的方式，在本地调试对应的脚本。
# job.local_run 通过运行一个Docker container的方式，模拟的作业的执行。
# 相应的传入的数据，会被mount到Docker container中，然后以arguments的方式传递给到脚本。

# job.local_run(
#     inputs={
#         "train_data": "./train.csv",
#     },
#     output_path="./output/"
# )


# 提交任务
job_id = job.run(
    name="custom-job-example",
    # 作业的执行配置
    job_config=JobConfig.create(worker_count=1, worker_instance_type="ecs.c6.large"),
    inputs={
        "train_data": job_train_data_uri,
    },
    output_path=job_output_path_uri,
)
