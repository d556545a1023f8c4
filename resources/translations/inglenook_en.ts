<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en" sourcelanguage="en">
<context>
    <name>ChoiceTable</name>
    <message numerus="yes">
        <source>%n part(s) missing</source>
        <translation>
            <numerusform>%n part missing</numerusform>
            <numerusform>%n parts missing</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>DefaultsForm</name>
    <message numerus="yes">
        <source>%n set</source>
        <translation>
            <numerusform>%n set</numerusform>
            <numerusform>%n set</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>DetailsPane</name>
    <message numerus="yes">
        <source>%n answer(s) running</source>
        <translation>
            <numerusform>%n answer running</numerusform>
            <numerusform>%n answers running</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>KeepingView</name>
    <message numerus="yes">
        <source>All together: {0} in %n model(s)</source>
        <translation>
            <numerusform>All together: {0} in %n model</numerusform>
            <numerusform>All together: {0} in %n models</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>MainWindow</name>
    <message numerus="yes">
        <source>Other programs are being answered (%n answer(s)).</source>
        <translation>
            <numerusform>Other programs are being answered (%n answer).</numerusform>
            <numerusform>Other programs are being answered (%n answers).</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Models are being downloaded (%n download(s)).</source>
        <translation>
            <numerusform>Models are being downloaded (%n download).</numerusform>
            <numerusform>Models are being downloaded (%n downloads).</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>PlanView</name>
    <message numerus="yes">
        <source>%n thread(s)</source>
        <translation>
            <numerusform>%n thread</numerusform>
            <numerusform>%n threads</numerusform>
        </translation>
    </message>
</context>
</TS>
