from jupyter_pai.sdk.operator import CustomJobOperator, RegisteredComponent

import time


# 构建一个Workflow的组件，由Workflow服务来提交对应的作业
op: CustomJobOperator = job.as_component(
    inputs=[
        PipelineArtifact(
            "train_data",
            metadata=ArtifactMetadataUtils.oss_dataset(),
        )
    ],
    outputs=[PipelineParameter("test-accuracy")],
)


# 组件可以注册保存到PAI的服务后端

version = "v-%s" % int(time.time())
op.save(identifier="xgb-example", version=version)
# 从后端获取保存的组件
registered_op = RegisteredComponent.get_by_identifier(
    identifier="xgb-example", version=version
)

print(registered_op)
print(registered_op.inputs)


# 使用保存的组件运行拉起对应的作业
registered_op.run(
    job_name="Hello",
    arguments={
        "job_config": JobConfig.create(
            worker_count=1, worker_instance_type="ecs.c6.large"
        ).to_dict(),
        "output_path": job_output_path_uri,
        "train_data": job_train_data_uri,
    },
)
