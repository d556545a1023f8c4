<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN" sourcelanguage="en">
<context>
    <name>AboutSection</name>
    <message>
        <source>About</source>
        <translation>关于</translation>
    </message>
    <message>
        <source>Inglenook runs language models on this machine. Nothing you write leaves it.</source>
        <translation>Inglenook 在本机运行语言模型，您写下的内容不会离开本机。</translation>
    </message>
    <message>
        <source>Diagnostics</source>
        <translation>诊断信息</translation>
    </message>
    <message>
        <source>For a report of a problem: no prompts, no answers, no key</source>
        <translation>用于报告问题：不含提问、回答和密钥</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <source>Copy the diagnostics</source>
        <translation>复制诊断信息</translation>
    </message>
    <message>
        <source>The diagnostics were copied.</source>
        <translation>已复制诊断信息。</translation>
    </message>
</context>
<context>
    <name>AnswersSection</name>
    <message>
        <source>Answers</source>
        <translation>回答</translation>
    </message>
    <message>
        <source>Temperature</source>
        <translation>温度</translation>
    </message>
    <message>
        <source>0 always takes the most likely word; higher is more varied.</source>
        <translation>0 总是选最可能的词；越高越多样。</translation>
    </message>
    <message>
        <source>Top-p</source>
        <translation>Top-p</translation>
    </message>
    <message>
        <source>Keeps the most likely tokens until their shares add up to this.</source>
        <translation>从最可能的词元开始保留，直到概率之和达到此值。</translation>
    </message>
    <message>
        <source>Top-k</source>
        <translation>Top-k</translation>
    </message>
    <message>
        <source>Keeps this many of the most likely tokens.</source>
        <translation>只保留这么多个最可能的词元。</translation>
    </message>
    <message>
        <source>All</source>
        <translation>全部</translation>
    </message>
    <message>
        <source>Min-p</source>
        <translation>Min-p</translation>
    </message>
    <message>
        <source>Drops tokens less likely than this share of the most likely one.</source>
        <translation>舍弃概率低于最可能词元此比例的词元。</translation>
    </message>
    <message>
        <source>Longest answer</source>
        <translation>回答长度上限</translation>
    </message>
    <message>
        <source>In tokens; a token is about three quarters of an English word.</source>
        <translation>以词元计；一个词元约为四分之三个英文单词。</translation>
    </message>
    <message>
        <source>As long as it takes</source>
        <translation>不限</translation>
    </message>
    <message>
        <source>Read along while I type</source>
        <translation>我输入时同步阅读</translation>
    </message>
    <message>
        <source>A loaded model reads a message before it is sent, and answers sooner.</source>
        <translation>已加载的模型会在消息发送前先行阅读，从而更快回答。</translation>
    </message>
    <message>
        <source>Use the defaults</source>
        <translation>使用默认值</translation>
    </message>
    <message>
        <source>Set all of these back to their defaults</source>
        <translation>将以上各项恢复为默认值</translation>
    </message>
</context>
<context>
    <name>AssistantMessage</name>
    <message>
        <source>Answer by {0}</source>
        <translation>{0} 的回答</translation>
    </message>
    <message>
        <source>Answer</source>
        <translation>回答</translation>
    </message>
    <message>
        <source>Continue</source>
        <translation>继续</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
</context>
<context>
    <name>Attaching</name>
    <message>
        <source>Attach text files</source>
        <translation>附加文本文件</translation>
    </message>
    <message>
        <source>Pasted text {0}</source>
        <translation>粘贴的文本 {0}</translation>
    </message>
    <message>
        <source>Pasted text</source>
        <translation>粘贴的文本</translation>
    </message>
    <message>
        <source>{0} was removed.</source>
        <translation>已移除 {0}。</translation>
    </message>
</context>
<context>
    <name>AttachmentRow</name>
    <message>
        <source>Attachments</source>
        <translation>附件</translation>
    </message>
    <message>
        <source>{0} · {1} characters</source>
        <translation>{0} · {1} 个字符</translation>
    </message>
    <message>
        <source>Attachment {0}</source>
        <translation>附件 {0}</translation>
    </message>
    <message>
        <source>Show {0}</source>
        <translation>查看 {0}</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>移除</translation>
    </message>
    <message>
        <source>Remove {0}</source>
        <translation>移除 {0}</translation>
    </message>
</context>
<context>
    <name>AttachmentView</name>
    <message>
        <source>The first {0} of {1} characters</source>
        <translation>前 {0} 个字符，共 {1} 个</translation>
    </message>
    <message>
        <source>Put into the message</source>
        <translation>放入消息正文</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
</context>
<context>
    <name>AttachmentsStore</name>
    <message>
        <source>{0} is too large: at most {1} MB of text can be attached.</source>
        <translation>{0} 太大：最多可以附加 {1} MB 的文本。</translation>
    </message>
    <message>
        <source>{0} is not a text file. Attach text in UTF-8, such as .txt or .md.</source>
        <translation>{0} 不是文本文件。请附加 UTF-8 编码的文本，例如 .txt 或 .md。</translation>
    </message>
    <message>
        <source>{0} cannot be read. Check that it is there and may be read.</source>
        <translation>无法读取 {0}。请确认文件存在并且有读取权限。</translation>
    </message>
</context>
<context>
    <name>BackendChoice</name>
    <message>
        <source>Backend of this model</source>
        <translation>此模型的后端</translation>
    </message>
    <message>
        <source>What computes this model; the reasons above say why</source>
        <translation>用什么来计算此模型；上面说明了原因</translation>
    </message>
    <message>
        <source>Backend: automatic</source>
        <translation>后端：自动</translation>
    </message>
    <message>
        <source>Backend: llama.cpp</source>
        <translation>后端：llama.cpp</translation>
    </message>
    <message>
        <source>Backend: torch on the GPU</source>
        <translation>后端：torch（GPU）</translation>
    </message>
    <message>
        <source>Backend: torch on the CPU</source>
        <translation>后端：torch（CPU）</translation>
    </message>
</context>
<context>
    <name>CardPage</name>
    <message>
        <source>Find a model</source>
        <translation>查找模型</translation>
    </message>
    <message>
        <source>Choose one in the list: its page says what each of its files would do here.</source>
        <translation>在列表中选择一个：其页面会说明每个文件在本机的表现。</translation>
    </message>
    <message>
        <source>Asking the hub…</source>
        <translation>正在询问模型库…</translation>
    </message>
    <message>
        <source>{0} cannot be shown</source>
        <translation>无法显示 {0}</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
</context>
<context>
    <name>CardPane</name>
    <message>
        <source>The chosen repository</source>
        <translation>所选模型库页面</translation>
    </message>
    <message>
        <source>Open its page</source>
        <translation>打开其网页</translation>
    </message>
    <message>
        <source>There is no model file in it that could run here.</source>
        <translation>其中没有能在本机运行的模型文件。</translation>
    </message>
    <message>
        <source>Look again</source>
        <translation>重新查看</translation>
    </message>
    <message>
        <source>Ask the hub whether it may be downloaded now</source>
        <translation>询问模型库现在是否可以下载</translation>
    </message>
    <message>
        <source>Recommended for this machine: {0}, {1}.</source>
        <translation>为本机推荐：{0}，{1}。</translation>
    </message>
    <message>
        <source>{0} licence</source>
        <translation>{0} 许可证</translation>
    </message>
    <message>
        <source>{0} tokens of context</source>
        <translation>上下文 {0} 个词元</translation>
    </message>
    <message>
        <source>updated {0}</source>
        <translation>更新于 {0}</translation>
    </message>
    <message>
        <source>Its authors want their licence to be accepted first: sign in on its page and accept it, then put your token into the network settings.</source>
        <translation>作者要求先接受其许可证：请在其网页登录并接受，然后在网络设置中填入您的令牌。</translation>
    </message>
    <message>
        <source>With its part for pictures ({0})</source>
        <translation>连同识图部分（{0}）</translation>
    </message>
    <message>
        <source>With its draft model ({0})</source>
        <translation>连同草稿模型（{0}）</translation>
    </message>
    <message>
        <source>Downloaded together: {0}</source>
        <translation>一并下载：{0}</translation>
    </message>
</context>
<context>
    <name>ChatPage</name>
    <message>
        <source>Ask anything. The answer is computed on this machine, and nothing leaves it.</source>
        <translation>随便问。回答在本机计算，一切都留在本机。</translation>
    </message>
    <message>
        <source>Parameters (Ctrl+P)</source>
        <translation>参数 (Ctrl+P)</translation>
    </message>
    <message>
        <source>Copied.</source>
        <translation>已复制。</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>新对话</translation>
    </message>
    <message>
        <source>{0} tokens/s</source>
        <translation>{0} 词元/秒</translation>
    </message>
    <message>
        <source>first token {0} ms</source>
        <translation>首词元 {0} 毫秒</translation>
    </message>
    <message>
        <source>There is no model on this machine yet.</source>
        <translation>这台电脑上还没有模型。</translation>
    </message>
    <message>
        <source>What you type here is kept meanwhile.</source>
        <translation>您在此输入的内容会先保存下来。</translation>
    </message>
    <message>
        <source>Get a model</source>
        <translation>获取模型</translation>
    </message>
    <message>
        <source>“{0}” was deleted.</source>
        <translation>已删除“{0}”。</translation>
    </message>
</context>
<context>
    <name>ChatStore</name>
    <message>
        <source>Loading the model, {0} %</source>
        <translation>正在载入模型，{0} %</translation>
    </message>
    <message>
        <source>Re-reading {0} of {1} tokens</source>
        <translation>正在重新读取词元：{0} / {1}</translation>
    </message>
    <message>
        <source>Reading {0} of {1} tokens</source>
        <translation>正在读取词元：{0} / {1}</translation>
    </message>
</context>
<context>
    <name>ChoiceDetails</name>
    <message>
        <source>What it costs here</source>
        <translation>在本机的开销</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>File</source>
        <translation>文件</translation>
    </message>
    <message>
        <source>Parts</source>
        <translation>分卷</translation>
    </message>
    <message>
        <source>Recommended</source>
        <translation>推荐</translation>
    </message>
    <message>
        <source>{0} ({1} tokens of context)</source>
        <translation>{0}（上下文 {1} 个词元）</translation>
    </message>
    <message>
        <source>On this machine</source>
        <translation>本机</translation>
    </message>
    <message>
        <source>Needs</source>
        <translation>需要</translation>
    </message>
    <message>
        <source>Weights</source>
        <translation>权重</translation>
    </message>
    <message>
        <source>KV cache</source>
        <translation>KV 缓存</translation>
    </message>
    <message>
        <source>Computing</source>
        <translation>计算</translation>
    </message>
    <message>
        <source>Free memory</source>
        <translation>可用内存</translation>
    </message>
    <message>
        <source>Writes</source>
        <translation>生成</translation>
    </message>
    <message>
        <source>Reads</source>
        <translation>读取</translation>
    </message>
    <message>
        <source>By formula; the exact figures are being worked out…</source>
        <translation>按公式估算；正在计算精确数值…</translation>
    </message>
    <message>
        <source>Exact: llama.cpp&apos;s own figures for this file.</source>
        <translation>精确：llama.cpp 对此文件给出的数值。</translation>
    </message>
    <message>
        <source>By formula, from the file&apos;s size and what is known of the model.</source>
        <translation>按公式估算：依据文件大小和已知的模型信息。</translation>
    </message>
</context>
<context>
    <name>ChoiceTable</name>
    <message>
        <source>Files</source>
        <translation>文件</translation>
    </message>
    <message>
        <source>Enter downloads</source>
        <translation>按 Enter 下载</translation>
    </message>
    <message numerus="yes">
        <source>%n part(s) missing</source>
        <translation>
            <numerusform>缺少 %n 个分卷</numerusform>
        </translation>
    </message>
    <message>
        <source>Downloaded</source>
        <translation>已下载</translation>
    </message>
    <message>
        <source>Download</source>
        <translation>下载</translation>
    </message>
    <message>
        <source>Resume</source>
        <translation>继续</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
</context>
<context>
    <name>CodeBlock</name>
    <message>
        <source>Code {0}</source>
        <translation>代码 {0}</translation>
    </message>
</context>
<context>
    <name>Composer</name>
    <message>
        <source>Message</source>
        <translation>消息</translation>
    </message>
    <message>
        <source>Ask anything. Nothing leaves this machine.</source>
        <translation>随便问。一切都留在本机。</translation>
    </message>
    <message>
        <source>Attach text files (Ctrl+U)</source>
        <translation>附加文本文件 (Ctrl+U)</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Choose the model (Ctrl+M)</source>
        <translation>选择模型 (Ctrl+M)</translation>
    </message>
    <message>
        <source>Stop (Esc)</source>
        <translation>停止 (Esc)</translation>
    </message>
    <message>
        <source>Send (Return)</source>
        <translation>发送 (Return)</translation>
    </message>
    <message>
        <source>No model</source>
        <translation>没有模型</translation>
    </message>
    <message>
        <source>{0} of {1}</source>
        <translation>{0} / {1}</translation>
    </message>
    <message>
        <source>Tokens of this conversation in the context</source>
        <translation>此对话在上下文中的词元数</translation>
    </message>
</context>
<context>
    <name>Connections</name>
    <message>
        <source>Last</source>
        <translation>最近一次</translation>
    </message>
    <message>
        <source>Host</source>
        <translation>主机</translation>
    </message>
    <message>
        <source>Purpose</source>
        <translation>用途</translation>
    </message>
    <message>
        <source>Requests</source>
        <translation>请求</translation>
    </message>
    <message>
        <source>Received</source>
        <translation>已接收</translation>
    </message>
    <message>
        <source>Stopped</source>
        <translation>已拦截</translation>
    </message>
    <message>
        <source>Search</source>
        <translation>搜索</translation>
    </message>
    <message>
        <source>Card</source>
        <translation>模型页</translation>
    </message>
    <message>
        <source>Beginning of a file</source>
        <translation>文件开头</translation>
    </message>
    <message>
        <source>Download</source>
        <translation>下载</translation>
    </message>
    <message>
        <source>Starter model</source>
        <translation>入门模型</translation>
    </message>
    <message>
        <source>Hub</source>
        <translation>模型库</translation>
    </message>
</context>
<context>
    <name>ConversationsModel</name>
    <message>
        <source>New chat</source>
        <translation>新对话</translation>
    </message>
    <message>
        <source>Today</source>
        <translation>今天</translation>
    </message>
    <message>
        <source>Yesterday</source>
        <translation>昨天</translation>
    </message>
    <message>
        <source>Last 7 days</source>
        <translation>最近 7 天</translation>
    </message>
    <message>
        <source>Last 30 days</source>
        <translation>最近 30 天</translation>
    </message>
    <message>
        <source>Older</source>
        <translation>更早</translation>
    </message>
</context>
<context>
    <name>ConversationsSection</name>
    <message>
        <source>Conversations</source>
        <translation>对话</translation>
    </message>
    <message>
        <source>On disk: also after a restart</source>
        <translation>存到磁盘：重启后仍可用</translation>
    </message>
    <message>
        <source>In memory only</source>
        <translation>仅在内存中</translation>
    </message>
    <message>
        <source>Not at all</source>
        <translation>不保留</translation>
    </message>
    <message>
        <source>Keep what models have read of conversations</source>
        <translation>保留模型已读过的对话内容</translation>
    </message>
    <message>
        <source>A long chat that is opened again need not be read again. Only your user account can read what is kept, and it is deleted with its chat.</source>
        <translation>再次打开长对话时，模型无需重新阅读。保留的内容只有您的用户账户可以读取，并会随对话一起删除。</translation>
    </message>
    <message>
        <source>Most space on disk</source>
        <translation>磁盘空间上限</translation>
    </message>
    <message>
        <source>In GB, for all models together. What was used longest ago makes room.</source>
        <translation>以 GB 为单位，所有模型合计。最久未使用的内容会先被清除。</translation>
    </message>
    <message>
        <source>Delete now</source>
        <translation>立即删除</translation>
    </message>
    <message>
        <source>Delete all that is kept; your chats stay and are read again when needed</source>
        <translation>删除所有保留的内容；您的对话不受影响，需要时会重新阅读</translation>
    </message>
    <message>
        <source>Kept now</source>
        <translation>当前保留</translation>
    </message>
    <message>
        <source>Nothing on disk.</source>
        <translation>磁盘上没有内容。</translation>
    </message>
    <message>
        <source>{0} on disk, in {1}</source>
        <translation>磁盘占用 {0}，位于 {1}</translation>
    </message>
</context>
<context>
    <name>CopyButton</name>
    <message>
        <source>Copied</source>
        <translation>已复制</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
</context>
<context>
    <name>DefaultsForm</name>
    <message>
        <source>How this model is loaded and asked, other than the others</source>
        <translation>此模型的加载和提问方式，可与其他模型不同</translation>
    </message>
    <message>
        <source>Context and KV cache hold from the next load, the rest from the next message. What is not set here follows the settings and the chat.</source>
        <translation>上下文和 KV 缓存从下次加载起生效，其余从下一条消息起生效。此处未设置的项沿用设置和对话中的值。</translation>
    </message>
    <message>
        <source>Default</source>
        <translation>默认</translation>
    </message>
    <message>
        <source>From settings</source>
        <translation>沿用设置</translation>
    </message>
    <message>
        <source>16 bits</source>
        <translation>16 位</translation>
    </message>
    <message>
        <source>8 bits</source>
        <translation>8 位</translation>
    </message>
    <message>
        <source>Context</source>
        <translation>上下文</translation>
    </message>
    <message>
        <source>KV cache</source>
        <translation>KV 缓存</translation>
    </message>
    <message>
        <source>Temperature</source>
        <translation>温度</translation>
    </message>
    <message>
        <source>Top-p</source>
        <translation>Top-p</translation>
    </message>
    <message>
        <source>Top-k</source>
        <translation>Top-k</translation>
    </message>
    <message>
        <source>Min-p</source>
        <translation>Min-p</translation>
    </message>
    <message>
        <source>Repetition penalty</source>
        <translation>重复惩罚</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>系统提示词</translation>
    </message>
    <message>
        <source>How it should behave</source>
        <translation>模型应如何表现</translation>
    </message>
    <message>
        <source>Use these</source>
        <translation>采用这些值</translation>
    </message>
    <message>
        <source>Reset</source>
        <translation>重置</translation>
    </message>
    <message>
        <source>Nothing of its own for this model</source>
        <translation>清除此模型自己的设置</translation>
    </message>
    <message>
        <source>The file</source>
        <translation>文件</translation>
    </message>
    <message>
        <source>Defaults of this model</source>
        <translation>此模型的默认值</translation>
    </message>
    <message numerus="yes">
        <source>%n set</source>
        <translation>
            <numerusform>已设置 %n 项</numerusform>
        </translation>
    </message>
    <message>
        <source>Set everything that {0} suggests</source>
        <translation>采用 {0} 建议的全部值</translation>
    </message>
    <message>
        <source>Also set: {0}</source>
        <translation>另外已设置：{0}</translation>
    </message>
    <message>
        <source>Also suggested: {0}</source>
        <translation>另外建议：{0}</translation>
    </message>
</context>
<context>
    <name>Desktop</name>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>The service ended and is started again (attempt {0}).</source>
        <translation>服务已终止，正在重新启动（第 {0} 次）。</translation>
    </message>
</context>
<context>
    <name>DetailsPane</name>
    <message>
        <source>The chosen model</source>
        <translation>所选模型</translation>
    </message>
    <message>
        <source>In the file</source>
        <translation>文件内容</translation>
    </message>
    <message>
        <source>Where it lies</source>
        <translation>所在位置</translation>
    </message>
    <message>
        <source>Load</source>
        <translation>载入</translation>
    </message>
    <message>
        <source>Read this model into memory (Enter in the list)</source>
        <translation>将此模型读入内存 (列表中按 Enter)</translation>
    </message>
    <message>
        <source>Unload</source>
        <translation>卸载</translation>
    </message>
    <message>
        <source>Free this model&apos;s memory</source>
        <translation>释放此模型占用的内存</translation>
    </message>
    <message>
        <source>Copy the path</source>
        <translation>复制路径</translation>
    </message>
    <message>
        <source>Remove (Delete in the list)</source>
        <translation>移除 (列表中按 Delete)</translation>
    </message>
    <message numerus="yes">
        <source>%n answer(s) running</source>
        <translation>
            <numerusform>%n 个回答正在生成</numerusform>
        </translation>
    </message>
    <message>
        <source>Hide (Delete in the list): the file stays</source>
        <translation>隐藏 (在列表中按 Delete)：文件保留</translation>
    </message>
    <message>
        <source>Hide (Delete in the list): the file stays, {0} may still use it</source>
        <translation>隐藏 (在列表中按 Delete)：文件保留，{0} 可能仍在使用</translation>
    </message>
    <message>
        <source>Load again</source>
        <translation>重新载入</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>移除</translation>
    </message>
    <message>
        <source>Hide</source>
        <translation>隐藏</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>Being worked out…</source>
        <translation>正在计算…</translation>
    </message>
    <message>
        <source>yes</source>
        <translation>有</translation>
    </message>
    <message>
        <source>no: a plain one is used</source>
        <translation>无：使用简单模板</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>名称</translation>
    </message>
    <message>
        <source>Family</source>
        <translation>系列</translation>
    </message>
    <message>
        <source>Quantization</source>
        <translation>量化</translation>
    </message>
    <message>
        <source>Parameters</source>
        <translation>参数</translation>
    </message>
    <message>
        <source>Trained context</source>
        <translation>训练上下文</translation>
    </message>
    <message>
        <source>{0} tokens</source>
        <translation>{0} 个词元</translation>
    </message>
    <message>
        <source>Layers</source>
        <translation>层数</translation>
    </message>
    <message>
        <source>Width</source>
        <translation>宽度</translation>
    </message>
    <message>
        <source>Vocabulary</source>
        <translation>词表</translation>
    </message>
    <message>
        <source>Chat template</source>
        <translation>对话模板</translation>
    </message>
    <message>
        <source>Licence</source>
        <translation>许可证</translation>
    </message>
    <message>
        <source>Path</source>
        <translation>路径</translation>
    </message>
    <message>
        <source>Size</source>
        <translation>大小</translation>
    </message>
    <message>
        <source>Comes from</source>
        <translation>来源</translation>
    </message>
    <message>
        <source>{0} of {1}</source>
        <translation>{0} / {1}</translation>
    </message>
    <message>
        <source>Parts</source>
        <translation>分卷</translation>
    </message>
    <message>
        <source>Belongs to it</source>
        <translation>附属文件</translation>
    </message>
    <message>
        <source>Outside the models folder: hiding it here leaves the file alone</source>
        <translation>在模型文件夹之外：在此隐藏不会动该文件</translation>
    </message>
    <message>
        <source>Kept</source>
        <translation>保存方式</translation>
    </message>
    <message>
        <source>The path was copied.</source>
        <translation>已复制路径。</translation>
    </message>
</context>
<context>
    <name>DownloadRow</name>
    <message>
        <source>Show</source>
        <translation>显示</translation>
    </message>
    <message>
        <source>Show this model in the list</source>
        <translation>在列表中显示此模型</translation>
    </message>
    <message>
        <source>Earlier</source>
        <translation>提前</translation>
    </message>
    <message>
        <source>Later</source>
        <translation>推后</translation>
    </message>
    <message>
        <source>Pause</source>
        <translation>暂停</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>Resume</source>
        <translation>继续</translation>
    </message>
    <message>
        <source>Take off this list</source>
        <translation>从列表中移除</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
</context>
<context>
    <name>Downloads</name>
    <message>
        <source>Waits for its turn</source>
        <translation>排队中</translation>
    </message>
    <message>
        <source>Downloading</source>
        <translation>正在下载</translation>
    </message>
    <message>
        <source>No connection, tries again</source>
        <translation>连接中断，正在重试</translation>
    </message>
    <message>
        <source>Paused</source>
        <translation>已暂停</translation>
    </message>
    <message>
        <source>Checking</source>
        <translation>正在校验</translation>
    </message>
    <message>
        <source>Done</source>
        <translation>已完成</translation>
    </message>
    <message>
        <source>Failed</source>
        <translation>失败</translation>
    </message>
    <message>
        <source>{0} %</source>
        <translation>{0} %</translation>
    </message>
    <message>
        <source>{0} left</source>
        <translation>剩余 {0}</translation>
    </message>
    <message>
        <source>{0}/s</source>
        <translation>{0}/秒</translation>
    </message>
    <message>
        <source>{0} of {1}</source>
        <translation>{0} / {1}</translation>
    </message>
</context>
<context>
    <name>DownloadsPanel</name>
    <message>
        <source>Downloads</source>
        <translation>下载</translation>
    </message>
</context>
<context>
    <name>ErrorBox</name>
    <message>
        <source>Details</source>
        <translation>详细信息</translation>
    </message>
    <message>
        <source>Show the details</source>
        <translation>显示详细信息</translation>
    </message>
</context>
<context>
    <name>Errors</name>
    <message>
        <source>This conversation has {0} tokens and the context holds {1}. Start a new chat, or load the model with a larger context in the settings.</source>
        <translation>此对话有 {0} 个词元，而上下文只能容纳 {1} 个。请新建对话，或在设置中用更大的上下文加载模型。</translation>
    </message>
    <message>
        <source>The model {0} is not here any more. Choose another one (Ctrl+M), or add one on the models page (Ctrl+2).</source>
        <translation>模型 {0} 已不在此处。请选择其他模型（Ctrl+M），或在模型页面（Ctrl+2）添加一个。</translation>
    </message>
    <message>
        <source>{0} needs {1} GiB of memory, and {2} GiB are free. Close other programs, or choose a smaller model.</source>
        <translation>{0} 需要 {1} GiB 内存，而可用内存为 {2} GiB。请关闭其他程序，或选择更小的模型。</translation>
    </message>
    <message>
        <source>The process that computes {0} died again and again. Try again, or choose another model.</source>
        <translation>运行 {0} 的进程反复意外退出。请重试，或选择其他模型。</translation>
    </message>
    <message>
        <source>The service does not answer at the moment. Try again shortly.</source>
        <translation>服务暂时没有响应。请稍后重试。</translation>
    </message>
</context>
<context>
    <name>Gauge</name>
    <message>
        <source>Context {0} % full</source>
        <translation>上下文已用 {0} %</translation>
    </message>
</context>
<context>
    <name>GeneralSection</name>
    <message>
        <source>General</source>
        <translation>通用</translation>
    </message>
    <message>
        <source>As the system</source>
        <translation>跟随系统</translation>
    </message>
    <message>
        <source>Language</source>
        <translation>语言</translation>
    </message>
    <message>
        <source>Of the window; models answer in whatever language they are asked.</source>
        <translation>界面的语言；用什么语言提问，模型就用什么语言回答。</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>浅色</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>深色</translation>
    </message>
    <message>
        <source>Theme</source>
        <translation>主题</translation>
    </message>
    <message>
        <source>Warm paper or warm dark.</source>
        <translation>温暖的纸色，或温暖的深色。</translation>
    </message>
</context>
<context>
    <name>Hub</name>
    <message>
        <source>Quantization</source>
        <translation>量化</translation>
    </message>
    <message>
        <source>Size</source>
        <translation>大小</translation>
    </message>
    <message>
        <source>Needs</source>
        <translation>需要</translation>
    </message>
    <message>
        <source>On this machine</source>
        <translation>本机</translation>
    </message>
    <message>
        <source>Tokens/s</source>
        <translation>词元/秒</translation>
    </message>
    <message>
        <source>Recommended</source>
        <translation>推荐</translation>
    </message>
    <message>
        <source>{0} parameters</source>
        <translation>{0} 参数</translation>
    </message>
    <message>
        <source>{0} downloads</source>
        <translation>{0} 次下载</translation>
    </message>
    <message>
        <source>Licence to accept</source>
        <translation>需接受许可证</translation>
    </message>
    <message>
        <source>Fits</source>
        <translation>放得下</translation>
    </message>
    <message>
        <source>Fits with a shorter context</source>
        <translation>缩短上下文后放得下</translation>
    </message>
    <message>
        <source>Does not fit</source>
        <translation>放不下</translation>
    </message>
    <message>
        <source>Not known</source>
        <translation>未知</translation>
    </message>
    <message>
        <source>about {0} tokens/s</source>
        <translation>约 {0} 词元/秒</translation>
    </message>
</context>
<context>
    <name>KeepingView</name>
    <message>
        <source>On the disk</source>
        <translation>在磁盘上</translation>
    </message>
    <message>
        <source>Delete the file…</source>
        <translation>删除文件…</translation>
    </message>
    <message>
        <source>Move the file to the trash; you are asked first</source>
        <translation>将文件移到回收站；会先询问您</translation>
    </message>
    <message>
        <source>Verify</source>
        <translation>校验</translation>
    </message>
    <message>
        <source>Read the whole file and compare its checksum</source>
        <translation>读取整个文件并比对校验和</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>停止</translation>
    </message>
    <message>
        <source>Stop reading the file</source>
        <translation>停止读取文件</translation>
    </message>
    <message>
        <source>Copy the SHA-256</source>
        <translation>复制 SHA-256</translation>
    </message>
    <message>
        <source>Takes {0} of the disk.</source>
        <translation>占用磁盘 {0}。</translation>
    </message>
    <message numerus="yes">
        <source>All together: {0} in %n model(s)</source>
        <translation>
            <numerusform>全部合计：%n 个模型，共 {0}</numerusform>
        </translation>
    </message>
    <message>
        <source>, {0} free</source>
        <translation>，可用 {0}</translation>
    </message>
    <message>
        <source>Reading {0} %</source>
        <translation>正在读取 {0} %</translation>
    </message>
    <message>
        <source>Whole</source>
        <translation>完好</translation>
    </message>
    <message>
        <source>Damaged: download it again</source>
        <translation>已损坏：请重新下载</translation>
    </message>
    <message>
        <source>Read; nobody has said what its checksum should be</source>
        <translation>已读取；没有可比对的校验和</translation>
    </message>
    <message>
        <source>The SHA-256 was copied.</source>
        <translation>已复制 SHA-256。</translation>
    </message>
    <message>
        <source>Delete the file of {0}?</source>
        <translation>删除 {0} 的文件？</translation>
    </message>
    <message>
        <source>{0}, in {1}</source>
        <translation>{0}，位于 {1}</translation>
    </message>
    <message>
        <source>It goes to the trash. Other programs that use it lose it, too.</source>
        <translation>文件将移到回收站。使用它的其他程序也将无法再用。</translation>
    </message>
    <message>
        <source>Delete the file</source>
        <translation>删除文件</translation>
    </message>
</context>
<context>
    <name>KeyboardMap</name>
    <message>
        <source>Keyboard</source>
        <translation>键盘</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>发送</translation>
    </message>
    <message>
        <source>New line</source>
        <translation>换行</translation>
    </message>
    <message>
        <source>Stop the answer</source>
        <translation>停止回答</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>新对话</translation>
    </message>
    <message>
        <source>Search chats</source>
        <translation>搜索对话</translation>
    </message>
    <message>
        <source>Write a message</source>
        <translation>写消息</translation>
    </message>
    <message>
        <source>Attach text files</source>
        <translation>附加文本文件</translation>
    </message>
    <message>
        <source>Choose the model</source>
        <translation>选择模型</translation>
    </message>
    <message>
        <source>Parameters</source>
        <translation>参数</translation>
    </message>
    <message>
        <source>Another answer</source>
        <translation>换一个回答</translation>
    </message>
    <message>
        <source>Copy the last answer</source>
        <translation>复制最后的回答</translation>
    </message>
    <message>
        <source>Rename the chat</source>
        <translation>重命名对话</translation>
    </message>
    <message>
        <source>Delete the chat (in the list)</source>
        <translation>删除对话 (在列表中)</translation>
    </message>
    <message>
        <source>Show or hide the list</source>
        <translation>显示或隐藏列表</translation>
    </message>
    <message>
        <source>Chat, models, settings</source>
        <translation>对话、模型、设置</translation>
    </message>
    <message>
        <source>This sheet</source>
        <translation>本表</translation>
    </message>
    <message>
        <source>Quit</source>
        <translation>退出</translation>
    </message>
</context>
<context>
    <name>Ledger</name>
    <message>
        <source>Connections to other machines</source>
        <translation>与其他机器的连接</translation>
    </message>
    <message>
        <source>Latest first</source>
        <translation>最近的在前</translation>
    </message>
    <message>
        <source>There was none yet.</source>
        <translation>还没有。</translation>
    </message>
    <message>
        <source>All of them: nothing in this app connects past this list.</source>
        <translation>全部连接：本应用的任何连接都会记录在此。</translation>
    </message>
</context>
<context>
    <name>Library</name>
    <message>
        <source>Loading, {0} %</source>
        <translation>正在载入，{0} %</translation>
    </message>
    <message>
        <source>On disk</source>
        <translation>在磁盘上</translation>
    </message>
    <message>
        <source>Loading</source>
        <translation>正在载入</translation>
    </message>
    <message>
        <source>In memory</source>
        <translation>在内存中</translation>
    </message>
    <message>
        <source>Unloading</source>
        <translation>正在卸载</translation>
    </message>
    <message>
        <source>Failed</source>
        <translation>失败</translation>
    </message>
    <message>
        <source>Cannot be used</source>
        <translation>无法使用</translation>
    </message>
    <message>
        <source>added</source>
        <translation>已添加</translation>
    </message>
</context>
<context>
    <name>ListPanel</name>
    <message>
        <source>No model has this in its name.</source>
        <translation>没有名称包含此内容的模型。</translation>
    </message>
    <message>
        <source>Add model…</source>
        <translation>添加模型…</translation>
    </message>
    <message>
        <source>Add a model file that lies on this machine (Ctrl+O)</source>
        <translation>添加本机上的模型文件 (Ctrl+O)</translation>
    </message>
    <message>
        <source>Search models</source>
        <translation>搜索模型</translation>
    </message>
    <message>
        <source>Search models (Ctrl+F)</source>
        <translation>搜索模型 (Ctrl+F)</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Enter loads, Delete removes</source>
        <translation>Enter 载入，Delete 移除</translation>
    </message>
</context>
<context>
    <name>MainWindow</name>
    <message>
        <source>Chat (Ctrl+1)</source>
        <translation>对话 (Ctrl+1)</translation>
    </message>
    <message>
        <source>Models (Ctrl+2)</source>
        <translation>模型 (Ctrl+2)</translation>
    </message>
    <message>
        <source>Settings (Ctrl+,)</source>
        <translation>设置 (Ctrl+,)</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>撤销</translation>
    </message>
    <message numerus="yes">
        <source>Other programs are being answered (%n answer(s)).</source>
        <translation>
            <numerusform>其他程序正在接收回答（%n 个）。</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Models are being downloaded (%n download(s)).</source>
        <translation>
            <numerusform>正在下载模型（%n 个）。</numerusform>
        </translation>
    </message>
    <message>
        <source>Keep the service running for them? The next start finds it again.</source>
        <translation>要为它们保留服务吗？下次启动时会重新找到它。</translation>
    </message>
    <message>
        <source>Keep running</source>
        <translation>保留运行</translation>
    </message>
    <message>
        <source>Stop it</source>
        <translation>停止服务</translation>
    </message>
    <message>
        <source>Finish in the background? Otherwise they go on with what is there at the next start.</source>
        <translation>要在后台完成吗？否则下次启动时从已下载的部分继续。</translation>
    </message>
    <message>
        <source>Finish in the background</source>
        <translation>在后台完成</translation>
    </message>
    <message>
        <source>Stop for now</source>
        <translation>暂时停止</translation>
    </message>
</context>
<context>
    <name>MarkdownView</name>
    <message>
        <source>Text</source>
        <translation>正文</translation>
    </message>
</context>
<context>
    <name>MessageFooter</name>
    <message>
        <source>Answer again (the earlier answer is kept)</source>
        <translation>重新回答 (保留先前的回答)</translation>
    </message>
    <message>
        <source>Continue</source>
        <translation>继续</translation>
    </message>
    <message>
        <source>Go on from the last word</source>
        <translation>从最后一个词接着写</translation>
    </message>
    <message>
        <source>{0} of the reused tokens were restored from memory or disk, in {1} ms</source>
        <translation>复用的词元中有 {0} 个从内存或磁盘恢复，耗时 {1} 毫秒</translation>
    </message>
    <message>
        <source>1 token</source>
        <translation>1 个词元</translation>
    </message>
    <message>
        <source>{0} tokens</source>
        <translation>{0} 个词元</translation>
    </message>
    <message>
        <source>{0} s</source>
        <translation>{0} 秒</translation>
    </message>
    <message>
        <source>{0} of {1} prompt tokens reused</source>
        <translation>复用提示词元 {0} / {1}</translation>
    </message>
    <message>
        <source>{0} of {1} guessed tokens right</source>
        <translation>猜测词元 {1} 个，猜中 {0} 个</translation>
    </message>
</context>
<context>
    <name>ModelPicker</name>
    <message>
        <source>Search models</source>
        <translation>搜索模型</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>模型</translation>
    </message>
</context>
<context>
    <name>ModelWords</name>
    <message>
        <source>loading {0} %</source>
        <translation>正在载入 {0} %</translation>
    </message>
    <message>
        <source>The model is loaded with the first message.</source>
        <translation>发送第一条消息时载入模型。</translation>
    </message>
    <message>
        <source>The model is being loaded.</source>
        <translation>正在载入模型。</translation>
    </message>
    <message>
        <source>The model is being unloaded.</source>
        <translation>正在卸载模型。</translation>
    </message>
</context>
<context>
    <name>ModelsPage</name>
    <message>
        <source>Models</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Looking through the models folder…</source>
        <translation>正在查看模型文件夹…</translation>
    </message>
    <message>
        <source>The models cannot be shown</source>
        <translation>无法显示模型</translation>
    </message>
    <message>
        <source>Choose a model in the list.</source>
        <translation>请在列表中选择一个模型。</translation>
    </message>
    <message>
        <source>Drop the file to add it</source>
        <translation>松开即可添加文件</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>Add model files</source>
        <translation>添加模型文件</translation>
    </message>
    <message>
        <source>{0} was removed.</source>
        <translation>已移除 {0}。</translation>
    </message>
    <message>
        <source>{0} is hidden; its file stays.</source>
        <translation>已隐藏 {0}；文件保留。</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>撤销</translation>
    </message>
    <message>
        <source>The file of {0} is in the trash.</source>
        <translation>{0} 的文件已移到回收站。</translation>
    </message>
    <message>
        <source>The download of {0} was cancelled.</source>
        <translation>已取消下载 {0}。</translation>
    </message>
    <message>
        <source>{0} is ready.</source>
        <translation>{0} 已就绪。</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>显示</translation>
    </message>
    <message>
        <source>The next start of the service loads {0} that way.</source>
        <translation>服务下次启动时将以这种方式加载 {0}。</translation>
    </message>
    <message>
        <source>Restart now</source>
        <translation>立即重启</translation>
    </message>
</context>
<context>
    <name>NetworkSection</name>
    <message>
        <source>Network</source>
        <translation>网络</translation>
    </message>
    <message>
        <source>Offline</source>
        <translation>离线</translation>
    </message>
    <message>
        <source>Token</source>
        <translation>令牌</translation>
    </message>
    <message>
        <source>Hub</source>
        <translation>模型库</translation>
    </message>
    <message>
        <source>Address of the model hub, or of a mirror of it; it begins with https://.</source>
        <translation>模型库或其镜像的地址，以 https:// 开头。</translation>
    </message>
    <message>
        <source>As the system says</source>
        <translation>跟随系统</translation>
    </message>
    <message>
        <source>Proxy</source>
        <translation>代理</translation>
    </message>
    <message>
        <source>Such as http://proxy:3128 or socks5h://localhost:1080.</source>
        <translation>例如 http://proxy:3128 或 socks5h://localhost:1080。</translation>
    </message>
    <message>
        <source>Download limit</source>
        <translation>下载限速</translation>
    </message>
    <message>
        <source>In MB a second, for all downloads together.</source>
        <translation>单位 MB/秒，所有下载合计。</translation>
    </message>
    <message>
        <source>None</source>
        <translation>不限</translation>
    </message>
    <message>
        <source>Folder of downloads</source>
        <translation>下载文件夹</translation>
    </message>
    <message>
        <source>From your account&apos;s page of the hub, with the right to read</source>
        <translation>来自模型库的账户页面，需有读取权限</translation>
    </message>
    <message>
        <source>hf_…</source>
        <translation>hf_…</translation>
    </message>
    <message>
        <source>Keep</source>
        <translation>保存</translation>
    </message>
    <message>
        <source>Keep this token in a file that only you can read</source>
        <translation>将此令牌保存在只有您能读取的文件中</translation>
    </message>
    <message>
        <source>Forget</source>
        <translation>清除</translation>
    </message>
    <message>
        <source>Forget the token that is kept here</source>
        <translation>清除此处保存的令牌</translation>
    </message>
    <message>
        <source>Choose…</source>
        <translation>选择…</translation>
    </message>
    <message>
        <source>Choose the folder that downloads go to</source>
        <translation>选择下载的存放文件夹</translation>
    </message>
    <message>
        <source>Use the default</source>
        <translation>使用默认值</translation>
    </message>
    <message>
        <source>The hub&apos;s own folder, where other programs find them, too</source>
        <translation>模型库自己的文件夹，其他程序也能找到</translation>
    </message>
    <message>
        <source>Choose the folder of downloads</source>
        <translation>选择下载文件夹</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>On: nothing here connects to another machine. No search, no download.</source>
        <translation>已开启：不连接任何其他机器。无法搜索和下载。</translation>
    </message>
    <message>
        <source>Off: the hub is reached when you search or download, and only then.</source>
        <translation>已关闭：仅在您搜索或下载时才连接模型库。</translation>
    </message>
    <message>
        <source>The hub&apos;s own folder, where other programs find them, too.</source>
        <translation>模型库自己的文件夹，其他程序也能找到。</translation>
    </message>
    <message>
        <source>None. It is needed only for models whose licence has to be accepted.</source>
        <translation>无。只有需要接受许可证的模型才用得到。</translation>
    </message>
    <message>
        <source>Set, in this app.</source>
        <translation>已在本应用中设置。</translation>
    </message>
    <message>
        <source>Set, from the environment.</source>
        <translation>已设置，来自环境变量。</translation>
    </message>
    <message>
        <source>Set, from the hub&apos;s own tools.</source>
        <translation>已设置，来自模型库自己的工具。</translation>
    </message>
    <message>
        <source>The hub does not accept it: it may have expired or been revoked.</source>
        <translation>模型库不接受它：可能已过期或被撤销。</translation>
    </message>
    <message>
        <source>It is {0}&apos;s.</source>
        <translation>属于 {0}。</translation>
    </message>
</context>
<context>
    <name>ParametersPanel</name>
    <message>
        <source>This chat</source>
        <translation>此对话</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>系统提示词</translation>
    </message>
    <message>
        <source>How the model should behave</source>
        <translation>模型应当如何表现</translation>
    </message>
    <message>
        <source>Default</source>
        <translation>默认</translation>
    </message>
    <message>
        <source>Temperature</source>
        <translation>温度</translation>
    </message>
    <message>
        <source>Top-p</source>
        <translation>Top-p</translation>
    </message>
    <message>
        <source>Min-p</source>
        <translation>Min-p</translation>
    </message>
    <message>
        <source>Top-k</source>
        <translation>Top-k</translation>
    </message>
    <message>
        <source>Longest answer</source>
        <translation>回答长度上限</translation>
    </message>
    <message>
        <source>No limit</source>
        <translation>不限</translation>
    </message>
    <message>
        <source>Seed</source>
        <translation>随机种子</translation>
    </message>
    <message>
        <source>Random</source>
        <translation>随机</translation>
    </message>
    <message>
        <source>Back to defaults</source>
        <translation>恢复默认值</translation>
    </message>
</context>
<context>
    <name>PlanView</name>
    <message>
        <source>Why:</source>
        <translation>原因：</translation>
    </message>
    <message>
        <source>On this machine</source>
        <translation>在本机上</translation>
    </message>
    <message numerus="yes">
        <source>%n thread(s)</source>
        <translation>
            <numerusform>%n 个线程</numerusform>
        </translation>
    </message>
    <message>
        <source>{0} tokens of context</source>
        <translation>上下文 {0} 个词元</translation>
    </message>
    <message>
        <source>Takes {0} of memory now, {1} were expected</source>
        <translation>现占用内存 {0}，预计 {1}</translation>
    </message>
    <message>
        <source>Needs {0}, {1} free</source>
        <translation>需要 {0}，空闲 {1}</translation>
    </message>
    <message>
        <source>Does not fit: needs {0}, {1} free</source>
        <translation>放不下：需要 {0}，空闲 {1}</translation>
    </message>
</context>
<context>
    <name>Readme</name>
    <message>
        <source>The rest is on its page.</source>
        <translation>其余内容见其网页。</translation>
    </message>
    <message>
        <source>From its page</source>
        <translation>网页说明</translation>
    </message>
</context>
<context>
    <name>Reasoning</name>
    <message>
        <source>Thinking…</source>
        <translation>思考中…</translation>
    </message>
    <message>
        <source>Thought</source>
        <translation>已思考</translation>
    </message>
    <message>
        <source>Thought for {0} s</source>
        <translation>思考了 {0} 秒</translation>
    </message>
    <message>
        <source>Hide the reasoning</source>
        <translation>隐藏思考过程</translation>
    </message>
    <message>
        <source>Show the reasoning</source>
        <translation>显示思考过程</translation>
    </message>
</context>
<context>
    <name>RunningSection</name>
    <message>
        <source>Models</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Models folder</source>
        <translation>模型文件夹</translation>
    </message>
    <message>
        <source>Threads</source>
        <translation>线程</translation>
    </message>
    <message>
        <source>Automatic</source>
        <translation>自动</translation>
    </message>
    <message>
        <source>Context</source>
        <translation>上下文</translation>
    </message>
    <message>
        <source>Tokens a model keeps in mind, all conversations together. More takes more memory; automatic is at most 8,192.</source>
        <translation>模型能记住的词元数，所有对话合计。越多占用内存越多；自动最多为 8,192。</translation>
    </message>
    <message>
        <source>Unload when idle</source>
        <translation>空闲时卸载</translation>
    </message>
    <message>
        <source>Minutes without a request after which a model leaves memory.</source>
        <translation>没有请求多少分钟后将模型移出内存。</translation>
    </message>
    <message>
        <source>torch on the GPU</source>
        <translation>torch（GPU）</translation>
    </message>
    <message>
        <source>torch on the CPU</source>
        <translation>torch（CPU）</translation>
    </message>
    <message>
        <source>Backend</source>
        <translation>后端</translation>
    </message>
    <message>
        <source>What computes. The models page says for each model why this one.</source>
        <translation>用什么来计算。模型页面会说明每个模型为何选用它。</translation>
    </message>
    <message>
        <source>As far as it pays</source>
        <translation>有益时启用</translation>
    </message>
    <message>
        <source>Where a text repeats itself, the next words are guessed and computed together; the right ones are kept.</source>
        <translation>文本出现重复时，预测后面的词并一起计算，预测正确的保留下来。</translation>
    </message>
    <message>
        <source>Never</source>
        <translation>从不</translation>
    </message>
    <message>
        <source>Cores that compute. Automatic uses those that other programs leave free.</source>
        <translation>用于计算的核心数。自动会使用其他程序空出的核心。</translation>
    </message>
    <message>
        <source>Guess ahead</source>
        <translation>预测后文</translation>
    </message>
    <message>
        <source>16 bits</source>
        <translation>16 位</translation>
    </message>
    <message>
        <source>8 bits</source>
        <translation>8 位</translation>
    </message>
    <message>
        <source>Memory of the conversation</source>
        <translation>对话的缓存</translation>
    </message>
    <message>
        <source>llama.cpp: with 8 bits a number, twice the context fits into the same memory. Automatic takes them before it would shorten the context, if they were measured to be fast enough here.</source>
        <translation>llama.cpp：每个数用 8 位时，同样的内存可容纳两倍的上下文。自动会在需要缩短上下文之前改用 8 位，前提是在本机测得足够快。</translation>
    </message>
    <message>
        <source>Same text every time</source>
        <translation>每次文本相同</translation>
    </message>
    <message>
        <source>llama.cpp: the same seed gives the same text, whatever else is computed (Q4_0, Q4_1 and Q8_0 files). Prompts are read more slowly.</source>
        <translation>llama.cpp：相同的种子总是得到相同的文本，不受其他计算影响（Q4_0、Q4_1 和 Q8_0 文件）。读取提示会变慢。</translation>
    </message>
    <message>
        <source>Choose…</source>
        <translation>选择…</translation>
    </message>
    <message>
        <source>Choose the folder where models are kept</source>
        <translation>选择存放模型的文件夹</translation>
    </message>
    <message>
        <source>Use the default</source>
        <translation>使用默认值</translation>
    </message>
    <message>
        <source>Where models are kept</source>
        <translation>存放模型的位置</translation>
    </message>
    <message>
        <source>Choose the models folder</source>
        <translation>选择模型文件夹</translation>
    </message>
</context>
<context>
    <name>SearchPanel</name>
    <message>
        <source>More</source>
        <translation>更多</translation>
    </message>
    <message>
        <source>Show more of what was found</source>
        <translation>显示更多结果</translation>
    </message>
    <message>
        <source>Search the hub</source>
        <translation>搜索模型库</translation>
    </message>
    <message>
        <source>Search the hub (Ctrl+F)</source>
        <translation>搜索模型库 (Ctrl+F)</translation>
    </message>
    <message>
        <source>Trending first</source>
        <translation>热门优先</translation>
    </message>
    <message>
        <source>Most downloads first</source>
        <translation>下载最多优先</translation>
    </message>
    <message>
        <source>Most liked first</source>
        <translation>最受喜爱优先</translation>
    </message>
    <message>
        <source>Newest first</source>
        <translation>最新优先</translation>
    </message>
    <message>
        <source>Order</source>
        <translation>排序</translation>
    </message>
    <message>
        <source>What stands first</source>
        <translation>排在前面的是什么</translation>
    </message>
    <message>
        <source>What was found</source>
        <translation>搜索结果</translation>
    </message>
    <message>
        <source>Models of the hub</source>
        <translation>模型库中的模型</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>Searching…</source>
        <translation>正在搜索…</translation>
    </message>
    <message>
        <source>The hub was not asked: these are the models the app knows by itself.</source>
        <translation>没有询问模型库：这些是应用自带的模型目录。</translation>
    </message>
    <message>
        <source>Nothing was found. Search for fewer or other words.</source>
        <translation>没有找到。请减少或更换搜索词。</translation>
    </message>
</context>
<context>
    <name>Service</name>
    <message>
        <source>Port {port} is in use by another program; the service uses another one this time.</source>
        <translation>端口 {port} 已被其他程序占用；服务这次改用另一个端口。</translation>
    </message>
    <message>
        <source>The service could not be started: {reason}</source>
        <translation>无法启动服务：{reason}</translation>
    </message>
    <message>
        <source>The service did not start. {reason}</source>
        <translation>服务没有启动。{reason}</translation>
    </message>
    <message>
        <source>The service stopped again and again. Its log may tell why.</source>
        <translation>服务反复停止。原因或许在它的日志里。</translation>
    </message>
</context>
<context>
    <name>ServiceSection</name>
    <message>
        <source>Service</source>
        <translation>服务</translation>
    </message>
    <message>
        <source>Port</source>
        <translation>端口</translation>
    </message>
    <message>
        <source>Where programs on this machine find the models.</source>
        <translation>本机程序通过此端口找到模型。</translation>
    </message>
    <message>
        <source>Any free one</source>
        <translation>任一空闲端口</translation>
    </message>
    <message>
        <source>Share on the network</source>
        <translation>在网络上共享</translation>
    </message>
    <message>
        <source>Key</source>
        <translation>密钥</translation>
    </message>
    <message>
        <source>Warning: whoever has the key can use your models, and what is sent can be read on its way, as it is not encrypted. Share only on a network that you trust.</source>
        <translation>警告：持有密钥的人都能使用您的模型；传输未加密，内容可能在途中被读取。请只在您信任的网络上共享。</translation>
    </message>
    <message>
        <source>What other programs have to send</source>
        <translation>其他程序必须发送的内容</translation>
    </message>
    <message>
        <source>Show or hide the key</source>
        <translation>显示或隐藏密钥</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <source>Copy the key</source>
        <translation>复制密钥</translation>
    </message>
    <message>
        <source>New key</source>
        <translation>新密钥</translation>
    </message>
    <message>
        <source>Make a new key; the old one ends with the next start of the service</source>
        <translation>生成新密钥；旧密钥在服务下次启动后失效</translation>
    </message>
    <message>
        <source>No key</source>
        <translation>不用密钥</translation>
    </message>
    <message>
        <source>Ask programs on this machine for no key</source>
        <translation>不向本机程序要求密钥</translation>
    </message>
    <message>
        <source>The key was copied.</source>
        <translation>已复制密钥。</translation>
    </message>
    <message>
        <source>Hide</source>
        <translation>隐藏</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>显示</translation>
    </message>
    <message>
        <source>On: other machines reach the service under this machine&apos;s name.</source>
        <translation>开：其他机器可用本机名称访问服务。</translation>
    </message>
    <message>
        <source>Off: only programs on this machine reach the service.</source>
        <translation>关：只有本机程序能访问服务。</translation>
    </message>
    <message>
        <source>What other programs have to send.</source>
        <translation>其他程序必须发送的内容。</translation>
    </message>
    <message>
        <source>None: every program on this machine may use the models.</source>
        <translation>无：本机任何程序都可使用模型。</translation>
    </message>
</context>
<context>
    <name>SettingsPage</name>
    <message>
        <source>Settings</source>
        <translation>设置</translation>
    </message>
    <message>
        <source>Some changes wait for the service to start again.</source>
        <translation>部分更改在服务重启后生效。</translation>
    </message>
    <message>
        <source>Restart now</source>
        <translation>立即重启</translation>
    </message>
    <message>
        <source>Start the service again; answers that run are stopped</source>
        <translation>重启服务；正在生成的回答会停止</translation>
    </message>
    <message>
        <source>Sections</source>
        <translation>分类</translation>
    </message>
    <message>
        <source>Sections of the settings</source>
        <translation>设置的分类</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
</context>
<context>
    <name>ShortcutsSection</name>
    <message>
        <source>Keyboard</source>
        <translation>键盘</translation>
    </message>
</context>
<context>
    <name>Side</name>
    <message>
        <source>Which models</source>
        <translation>哪些模型</translation>
    </message>
    <message>
        <source>On this machine</source>
        <translation>本机</translation>
    </message>
    <message>
        <source>Find</source>
        <translation>查找</translation>
    </message>
</context>
<context>
    <name>Sidebar</name>
    <message>
        <source>New chat</source>
        <translation>新对话</translation>
    </message>
    <message>
        <source>New chat (Ctrl+N)</source>
        <translation>新对话 (Ctrl+N)</translation>
    </message>
    <message>
        <source>Search chats</source>
        <translation>搜索对话</translation>
    </message>
    <message>
        <source>Search chats (Ctrl+F)</source>
        <translation>搜索对话 (Ctrl+F)</translation>
    </message>
    <message>
        <source>Chats</source>
        <translation>对话</translation>
    </message>
    <message>
        <source>Rename (F2)</source>
        <translation>重命名 (F2)</translation>
    </message>
    <message>
        <source>Delete (Del)</source>
        <translation>删除 (Del)</translation>
    </message>
</context>
<context>
    <name>SuggestionCard</name>
    <message>
        <source>Download</source>
        <translation>下载</translation>
    </message>
    <message>
        <source>Download this model</source>
        <translation>下载此模型</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Stop the download; nothing is left behind</source>
        <translation>停止下载，不留下任何文件</translation>
    </message>
    <message>
        <source>Recommended: {0}</source>
        <translation>推荐理由：{0}</translation>
    </message>
    <message>
        <source>{0} to download</source>
        <translation>需下载 {0}</translation>
    </message>
    <message>
        <source>{0} licence</source>
        <translation>{0} 许可证</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
</context>
<context>
    <name>Toast</name>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
</context>
<context>
    <name>Transcript</name>
    <message>
        <source>Conversation</source>
        <translation>对话内容</translation>
    </message>
    <message>
        <source>Jump to the end (End)</source>
        <translation>跳到末尾 (End)</translation>
    </message>
</context>
<context>
    <name>UserMessage</name>
    <message>
        <source>Your message</source>
        <translation>您的消息</translation>
    </message>
    <message>
        <source>Edit and send again</source>
        <translation>编辑并重新发送</translation>
    </message>
    <message>
        <source>Show all {0} characters</source>
        <translation>显示全部 {0} 个字符</translation>
    </message>
</context>
<context>
    <name>Versions</name>
    <message>
        <source>Previous version</source>
        <translation>上一版本</translation>
    </message>
    <message>
        <source>Next version</source>
        <translation>下一版本</translation>
    </message>
</context>
<context>
    <name>Welcome</name>
    <message>
        <source>A first model</source>
        <translation>第一个模型</translation>
    </message>
    <message>
        <source>Looking for a model that suits this machine…</source>
        <translation>正在寻找适合本机的模型…</translation>
    </message>
    <message>
        <source>Or a small one to begin with, good on every machine:</source>
        <translation>或者先用一个小模型，任何电脑都能运行：</translation>
    </message>
    <message>
        <source>Or drop a GGUF file anywhere on this page.</source>
        <translation>或将 GGUF 文件拖放到此页任意位置。</translation>
    </message>
    <message>
        <source>Find others…</source>
        <translation>查找其他…</translation>
    </message>
    <message>
        <source>Look for other models</source>
        <translation>查找其他模型</translation>
    </message>
    <message>
        <source>Add a file…</source>
        <translation>添加文件…</translation>
    </message>
    <message>
        <source>Add a model file that lies on this machine (Ctrl+O)</source>
        <translation>添加本机上的模型文件 (Ctrl+O)</translation>
    </message>
    <message>
        <source>Fetch</source>
        <translation>下载</translation>
    </message>
    <message>
        <source>Download this model</source>
        <translation>下载此模型</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Stop the download; nothing is left behind</source>
        <translation>停止下载，不留下任何文件</translation>
    </message>
    <message>
        <source>Models run on this machine: what you write to them stays here.</source>
        <translation>模型在本机运行：您写的内容都留在本机。</translation>
    </message>
    <message>
        <source>This one is small enough for every machine and good for a first try.</source>
        <translation>这个模型足够小，任何电脑都能运行，适合初次尝试。</translation>
    </message>
    <message>
        <source>This one suits the memory and the speed of yours.</source>
        <translation>这个模型适合您这台电脑的内存和速度。</translation>
    </message>
    <message>
        <source>{0} to download · {1} licence</source>
        <translation>下载 {0} · {1} 许可证</translation>
    </message>
    <message>
        <source>Fetching, {0} %</source>
        <translation>正在下载，{0} %</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
</context>
<context>
    <name>_Editor</name>
    <message>
        <source>Send</source>
        <translation>发送</translation>
    </message>
    <message>
        <source>Send again (Enter)</source>
        <translation>重新发送 (Enter)</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Leave the message as it is (Esc)</source>
        <translation>保持消息不变 (Esc)</translation>
    </message>
    <message>
        <source>Pasted text</source>
        <translation>粘贴的文本</translation>
    </message>
</context>
<context>
    <name>_Field</name>
    <message>
        <source>Edit your message</source>
        <translation>编辑您的消息</translation>
    </message>
    <message>
        <source>Enter sends, Shift+Enter begins a line</source>
        <translation>Enter 发送，Shift+Enter 换行</translation>
    </message>
</context>
<context>
    <name>start_error</name>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
</context>
</TS>
