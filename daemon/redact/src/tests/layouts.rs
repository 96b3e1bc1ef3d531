//! Layouts: where readers write secrets down besides `label: value`. `⟦…⟧` goes, the rest stays; `\n` is a line end.

use super::{check_marked, redact};

/// Fills `PASS` with words, a number and capitals, with what people type, and with what machines make.
fn check_filled(rows: &str) {
    for password in ["Awesome-Dice-Swing10", "hunter2x", "S3cr3t!pw9", "viwigo-Bivit9-kubugo"] {
        check_marked(&rows.replace("PASS", &format!("⟦{password}⟧")));
    }
}

#[test]
fn a_field_holds_the_value_of_the_field_that_names_it() {
    check_filled(
        r##"
- name: DB_PWD\n  value: PASS
env:\n  - name: DB_PWD\n    value: "PASS"\n  - name: PORT\n    value: "8080"
- key: admin_password\n  description: of the shop\n  value: PASS
{"name": "DB_PWD", "value": "PASS"}
{\n  "label": "password",\n  "type": "CONCEALED",\n  "value": "PASS"\n}
{"ParameterKey": "MasterPassword", "ParameterValue": "PASS"}
{\"name\": \"password\", \"value\": \"PASS\"}
<name>db.password</name>\n<value>PASS</value>
<key>Password</key>\n<string>PASS</string>
<add key="Password" value="PASS" />
<input type="password" name="password" value="PASS">
set {\n  name  = "adminPassword"\n  value = "PASS"\n}
[[env]]\nname = "DB_PWD"\nvalue = "PASS"
password:\n  value: PASS
variable "db_password" {\n  type = string\n  default = "PASS"\n}
name: password\ndescription: value of the password
<span class="name">password</span>, <span class="string">'salt'</span>
"##,
    );
}

#[test]
fn a_heading_announces_what_is_below_it() {
    check_filled(
        r"
# Password\n\nPASS\n\nText.
### WiFi password\nPASS
# Passwords\n\n`PASS`
# Password\n\n```sh\nPASS\n```
Password\n========\n\nPASS
**Password**\n\nPASS
* Password\n  PASS
Password\n: PASS
<h2>Password</h2>\n<p>PASS</p>
Password:\n> PASS
# Password\n\n⟦pigment reset oxidize ducky⟧
# Password\n\nIt must have 12 characters.
$ cargo login\nabcdefghijklmnopqrstuvwxyz012345
",
    );
}

#[test]
fn a_value_of_words_stands_out_after_a_label_of_keys() {
    for key in ["abcdef-Ghijk1-lmnopq", "viwigo-Bivit9-kubugo", "q9W8e7R6t5Y4u3I2o1P0"] {
        check_marked(
            &r#"
The API key is KEY
Access token is KEY, keep it.
The secret key for the shop is KEY.
## API key\n\nKEY
## Access token\n\n`KEY`
## Secret key\nKEY
curl -H "X-API-Key: KEY" https://h.example/v1
curl -H 'X-Access-Token: KEY' h.example
curl -H 'X-API-Key: KEY' -X POST "$URL"
Authorization: Bearer KEY
curl -H "Authorization: Bearer KEY" https://h.example/v1
"#
            .replace("KEY", &format!("⟦{key}⟧")),
        );
    }
    check_marked(
        "
The API key is ⟦pigment-reset-oxidize-ducky⟧
api_key: ⟦pigment-reset-oxidize-ducky⟧
## Access token\\n\\n⟦pigment-reset-oxidize-ducky⟧
type: apiKey
type: \"apiKey\", name: X-API-Key
say \"The password: 1,2,3,4,5\" and go
The API key is required
access token is valid
The API key is shared-with-every-client
The access token is my-service-account-token-1
The secret key is base64-encoded-by-default
Password: unknown
Contraseña: obligatoria
",
    );
}

#[test]
fn a_value_lies_in_a_row_a_map_a_tag_or_behind_dots() {
    check_filled(
        r#"
INSERT INTO users (name, password) VALUES ('anna', 'PASS');
INSERT INTO users(`name`,`password`)VALUES('anna','PASS')
insert into users (password, name)\n  values ('PASS', 'a'), ('PASS', 'b');
INSERT INTO users (name, password) VALUES (?, ?)
INSERT INTO users (name, password) VALUES ('anna', '${DB_PW}');
passwords:\n  root: PASS\n  web_1: "PASS"\n\nport: 8080
<password type="x">PASS</password>
<db:password type='x' id="y">PASS</db:password>
<password type="x" required="yes"/> and <b>Rocky3000x</b>
Password ......... PASS
Password........ PASS
Password . . . . . : PASS
Password ……… PASS
Passwords ... are kept hashed
"#,
    );
}

#[test]
fn a_label_may_have_a_number_an_aside_a_second_colon_and_other_signs() {
    check_filled(
        r#"
password:: PASS
Password #1: PASS
Password 1: PASS
Password [root]: PASS
Password / PIN: PASS
Password » PASS
Password > PASS
Password ⟶ PASS
Password to the NAS: PASS
PWD FOR ROOT IS PASS
password ?= PASS
char password[] = "PASS";
password: &str = "PASS";
user / pass: ann / PASS
Username & password: ann / PASS
Login: ann/PASS
pass: PASS
Password::new(policy)
"#,
    );
}

#[test]
fn programs_statements_and_directives_take_secrets() {
    check_filled(
        r#"
curl -su ann:PASS https://h.example
curl --user 'ann:PASS' https://h.example
curl https://h.example \\n  -u "ann:PASS"
mysql -uroot -pPASS db
mysqldump -u root -p'PASS' db
docker login -uann -pPASS registry.example
sshpass -pPASS ssh a@b
zip -rP PASS a.zip b
7z a -p'PASS' x.7z y
htpasswd -b .htpasswd ann PASS
htpasswd -nbB ann PASS
net user ann PASS /add
echo 'ann:PASS' | sudo chpasswd
chpasswd <<< "ann:PASS"
echo PASS | passwd --stdin ann
"PASS" | ConvertTo-SecureString -AsPlainText -Force
ConvertTo-SecureString -AsPlainText -Force -String 'PASS'
openssl rsa -passin pass:PASS -in k
smbclient //srv/share -U 'ann%PASS'
sqlplus ann/PASS@db
redis-cli -h x -a 'PASS' ping
ACL SETUSER ann on >PASS ~* +@all
requirepass PASS
username ann secret PASS
username admin privilege 15 secret 5 PASS
enable secret level 15 PASS
tacacs-server key 7 PASS
snmp-server user u g v3 auth sha PASS priv aes 128 PASS
rootpw --plaintext PASS
set password FOR 'ann'@'%' = 'PASS';
set password FOR ann TO 'PASS';
ALTER USER 'ann'@'%' IDENTIFIED WITH mysql_native_password BY 'PASS';
ALTER USER ann IDENTIFIED BY PASS;
WIFI:S:MyNet;T:WPA;P:⟦Awesome-Dice-Swing10;;⟧
jdbc:oracle:thin:ann/PASS@h:1521:x
mysql -u root -p db
curl -u user:password https://h.example
Create user records by running the script.
Your username and password (which are called credentials) work.
aws ecr get-login-password --region eu-west-1 | docker login --password-stdin
The net user command lists them; the requirepass directive sets it.
"#,
    );
}

#[test]
fn the_twenty_most_used_languages_have_a_word_for_it() {
    check_filled(
        "
Kennwort: PASS
Mot de passe : PASS
Contraseña: PASS
Parola d'ordine: PASS
Senha: PASS
Wachtwoord: PASS
Hasło: PASS
Heslo: PASS
Heslo k wifi je PASS
Lösenord: PASS
Lösenordet till wifi är PASS
Adgangskode: PASS
Passord: PASS
Passordet er PASS
Salasana: PASS
Пароль: PASS
Wifi şifresi: PASS
Parolă: PASS
Κωδικός πρόσβασης: PASS
パスワード：PASS
密码：PASS
비밀번호: PASS
كلمة المرور: PASS
סיסמה: PASS
पासवर्ड: PASS
Jelszó: PASS
",
    );
}

#[test]
fn a_passphrase_in_a_sentence_has_no_word_of_any_sentence() {
    check_marked(
        "
The password for the wifi is ⟦correct horse battery staple⟧.
Wifi password is: ⟦pigment reset oxidize ducky⟧
Password: ⟦pigment reset oxidize ducky⟧.
The password is never sent over network.
The password is stored encrypted inside database.
",
    );
}

#[test]
fn a_placeholder_is_all_of_its_value() {
    check_marked("password: ⟦changeme7⟧\npassword: changeme\npassword: ⟦my-redacted7⟧\n");
    assert_eq!(redact("password: [redacted:password]:\n".to_string()).findings.redacted.len(), 0);
}
