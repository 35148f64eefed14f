from jupyter_pai.sdk.estimator import Estimator

estimator = Estimator(
    image_uri="<TrainingImageUri>",
    entry_point="train.py",
    instance_type="<TrainingInstanceType>",
)
estimator.fit(wait=False)

# 启动TensorBoard服务，查看训练作业的TensorBoard日志
tensorboard = estimator.tensorboard()

# 查看TensorBoard 应用的控制台链接
print(tensorboard.app_uri)

# 在使用完成之后，删除TensorBoard应用
tensorboard.delete()
