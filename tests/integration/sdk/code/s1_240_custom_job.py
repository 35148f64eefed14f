from jupyter_pai.sdk.job import CustomJob

image_uri = "registry.cn-hangzhou.aliyuncs.com/pai-dlc/xgboost-training:1.6.0-cpu-py36-ubuntu18.04"
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

job.local_run(
    inputs={
        "train_data": "./train.csv",
    },
    output_path="./output/"
)
